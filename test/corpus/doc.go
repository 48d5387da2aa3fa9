// Command corpus measures how exactly a domain is compared: it defines domain XML inputs in a private libvirtd, reads them back,
// and wants no difference from what was declared; then it changes one thing of each at a time, and wants exactly that one.
//
//	go run ./test/corpus [-mutations N] [-seed N] [-as-is] [-import] [-min-exact PERCENT] [-min-found PERCENT] [DIR…]
//
// Each DIR is a folder of XML files, of which those with the root <domain> are taken. Without one, the inputs are those of
// libvirt's own tests: the command fetches Debian's source package of libvirt with apt-get, into a temporary folder and with a
// configuration of its own, so that nothing of the system changes.
//
// An input is compared twice: after its definition, and after the redefinition that follows from it. What a document of another
// hypervisor or architecture says is made into QEMU's for x86_64 where libvirtd refuses it as it stands, and is counted apart
// ("adapted"); -as-is leaves that out. What libvirtd takes only without checking it against its schema is counted apart as well
// ("unvalidated", "loosened"), and so is what it drops of that. Input that ends libvirtd is counted, and another one is started.
//
// A mutation changes, takes back or adds one thing that is declared, or puts the devices in another order. It is found when the
// comparison tells that one thing. The mutation is defined as well: it must not differ from what it declares, and the original must
// differ from it in that thing again, which is what an edit by hand looks like. A mutation that libvirtd keeps the same XML of says
// nothing ("void"), and one that it does not take at all is no declaration ("absurd"); both are counted apart. The others are
// "missed" when nothing is told, "blurred" when more is, "untrue" when it differs from itself, and "drifted" when the original does
// not differ from it alone.
//
// With -import, what libvirtd makes of each input is imported instead, as gitvirt import does: an input comes through when its
// documents render to no difference, by the plan that an agent would make of it. How many disks and interfaces come in the
// template's words is counted, with the reasons of the others and what else stands in domainXML, whether the
// documents alone make the same machine where there is none, and whether libvirtd keeps every other byte of the definition when it is given gitvirt's record,
// which is all that an adoption does. Names are replaced, because most inputs have one that no document can have.
//
// Without folders, and with all mutations (-mutations -1), it takes half an hour on two cores.
//
// The exit is 0 when both shares are as -min-exact and -min-found ask, 1 when they are not, and 2 when it cannot be measured.
package main
