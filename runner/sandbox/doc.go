// Package sandbox runs a libvirtd of its own, apart from the system's, and ends everything that it started.
//
// The daemon is a session one (qemu:///session) whose sockets, state and configuration lie in one short temporary
// directory, so it shares nothing with the system's libvirt and needs no privileges. QEMU processes outlive their
// libvirtd by design. Daemon and QEMUs therefore run below a supervisor that holds a pipe from the owner: when the
// pipe closes, by Close or because the owner was killed, the supervisor kills them and removes the directory.
//
// Where the kernel allows it, the supervisor is the first process of a PID namespace of its own, and then nothing can
// outlive it. Root needs at least a user namespace, because libvirtd run by root is a privileged one, which uses the
// system's directories whatever the session is.
package sandbox
