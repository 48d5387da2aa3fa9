// Package guest builds a small Linux guest that boots without a network, and reads what it says on its console.
//
// The guest is Debian's cloud kernel, whose drivers are modules for virtual hardware only (it has none for SATA: give
// it disks on virtio or virtio-scsi), and an initramfs with busybox. It obeys a shutdown request, takes devices, CPUs
// and memory while it runs, and prints lines to its serial port, each of which starts with a word:
//
//	READY uuid=U memory=KIB cpus=N disks=NAME:BYTES:SERIAL,… nics=MAC,…
//	DRIVE instance-id=I local-hostname=H sha256-of-user-data=S sha256-of-network-data=S sha256-of-meta-data=S
//	IGNITION sha256-of-config=S
//	SEED instance-id=I local-hostname=H sha256-of-user-data=S sha256-of-network-data=S sha256-of-meta-data=S
//	RAN status=N
//	POWER-BUTTON
//	ERROR text
//
// DRIVE comes when it finds a config drive, which is one labelled config-2 in OpenStack's form, and IGNITION when QEMU's firmware
// configuration device has opt/com.coreos/config.
//
// READY comes once the guest would hear a shutdown request. SEED comes when it finds a NoCloud seed, which is a disk
// or CD labelled cidata with the files user-data and meta-data
// (https://cloudinit.readthedocs.io/en/latest/reference/datasources/nocloud.html). Lines "gitvirt-run: COMMAND" of the
// user data are then run by a shell, with their output on the console, and RAN tells its status. POWER-BUTTON means
// that a shutdown request was heard, and the guest powers off.
package guest
