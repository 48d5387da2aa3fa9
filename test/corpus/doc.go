// Command corpus measures how exactly a domain is compared: it defines domain XML inputs in a private libvirtd, reads them back,
// and wants no difference from what was declared; then it changes one thing of each at a time, and wants exactly that one.
//
//	go run ./test/corpus [-mutations N] [-seed N] [-report FILE] [DIR…]
//
// Each DIR is a folder of XML files, of which those with the root <domain> are taken. Without one, the inputs are those of
// libvirt's own tests: the command fetches Debian's source package of libvirt with apt-get, into a temporary folder and with a
// configuration of its own, so that nothing of the system changes.
//
// What a document of another hypervisor or architecture says is made into QEMU's for x86_64 where libvirtd refuses it as it
// stands, and is counted apart; -as-is leaves that out. Input that ends libvirtd is counted, and another one is started.
//
// A mutation that libvirtd itself takes for the same (it keeps the same XML) says nothing, and is counted apart. So is what
// libvirtd drops of a document that does not fit its schema, and is defined without validation.
//
// The exit is 0 when both shares are as -min-exact and -min-found ask, 1 when they are not, and 2 when it cannot be measured.
package main
