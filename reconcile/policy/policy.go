package policy

import (
	"fmt"
	"slices"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// Policy is what the agent's file allows.
type Policy struct {
	// HostPaths are folders and files of the host that machines may have, and all below them.
	HostPaths []string
	// Networks are libvirt networks, Bridges the host's bridges, and devices that macvtap shares; patterns as in path.Match.
	Networks, Bridges []string
	// NoUserNetwork takes QEMU's user network away, through which a guest reaches services on the host's loopback.
	NoUserNetwork bool
	// Pools are storage pools in which volumes are made; an entry POOL/VOLUME gives volumes that somebody else made there.
	// Patterns as in path.Match.
	Pools []string
	// Images are where disks begin: folders of the host, registries or repositories, and servers or folders of them, HOST/PATH
	// (patterns of hosts).
	Images []string
	// Probes are the hosts that a readiness probe may name; patterns.
	Probes []string
	// Storage are the servers that machines' disks may be on, NAME or NAME:PORT; patterns. One that only the host can reach
	// has to be named, where "*" is not enough.
	Storage []string
	// HostDevices are PCI addresses (0000:03:00.0), USB vendors and products (1d6b:0002), UUIDs of mediated devices, and
	// device files (/dev/disk/by-id/…); "*" is all.
	HostDevices []string
	// VM bounds each machine, Host all of a host's together. A zero is no bound.
	VM, Host Limits
	// Elements are paths of elements, PATH, PATH@ATTRIBUTE or PATH@ATTRIBUTE=VALUE, which may be used beside those that are
	// always free; "*" is all.
	Elements []string
}

// Limits are ceilings.
type Limits struct {
	CPUs   int64
	Memory int64 // bytes
	Disk   int64 // bytes
}

// DefaultImages is where libvirt keeps images, and every registry. They are only read.
var DefaultImages = []string{"/var/lib/libvirt/images", "*"}

// Default is the policy of an agent whose file says nothing of one: what the host's administrator has set up for machines in
// libvirt can be used, which is its networks and pools, and nothing else of the host.
func Default() Policy {
	return Policy{Networks: []string{"*"}, Pools: []string{"*"}, Probes: []string{"*"}, Images: slices.Clone(DefaultImages)}
}

// Refusal is one thing that a machine may not have.
type Refusal struct {
	// Rule is the name of what forbids it.
	Rule string
	// Path is the element or attribute: devices/disk/source@file; empty for a volume.
	Path string
	// Field is that of the template's spec, as far as it can be told; "attach." is before those of a run state.
	Field string
	Value string
	// Entry is what a list of the agent's file has to have, where that is not the value.
	Entry string
	// Message says what is wrong, and what to write in the agent's file to allow it.
	Message string
}

// String is the rule and the message.
func (r Refusal) String() string { return r.Rule + ": " + r.Message }

// limit bounds what a message quotes of a document.
func limit(s string) string {
	const most = 120
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// field is a field's path with an index.
func field(list string, n int) string { return fmt.Sprintf("%s[%d]", list, n) }

// indexOf is where a list has an item of that name; -1 for nowhere.
func indexOf[T any](list []T, name string, of func(T) string) int {
	return slices.IndexFunc(list, func(item T) bool { return of(item) == name })
}

func volumeName(v manifest.Volume) string   { return v.Name }
func networkName(n manifest.Network) string { return n.Name }
