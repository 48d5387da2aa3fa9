package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/metadata"
)

// World is what a runner observed of a host, at one moment.
type World struct {
	// Domains are all of the host's domains, ours and others', sorted by name.
	Domains []Domain
	// Secrets are those that libvirt keeps for gitvirt's instances; nil where that is not known.
	Secrets []LibvirtSecret
}

// LibvirtSecret is a secret that libvirt keeps. Nobody can read its value.
type LibvirtSecret struct {
	UUID  string
	Usage string
}

// Domain is the domain of a name; nil when there is none.
func (w World) Domain(name string) *Domain {
	n, ok := slices.BinarySearchFunc(w.Domains, name, func(d Domain, name string) int { return cmp.Compare(d.Name, name) })
	if !ok {
		return nil
	}
	return &w.Domains[n]
}

// Domain is one observed domain.
type Domain struct {
	Name string
	UUID string
	// ID is libvirt's number of a running domain, -1 otherwise.
	ID     int32
	State  DomainState
	Reason string // libvirt's reason for the state: shutdown, destroyed, crashed, failed, migrated, saved, user, ioerror, …; "unknown" after a restart of libvirtd
	// Persistent is false for a domain that has no inactive definition.
	Persistent bool
	Autostart  bool
	// Job is what somebody has begun at the running domain and libvirt is at: a backup, a block copy, a migration out, a save;
	// empty when there is nothing.
	Job string
	// ManagedSave says that the next start resumes a saved state.
	ManagedSave bool
	Inactive    XML // empty for a transient domain
	Live        XML // empty when it does not run
	// Stuck says that libvirt gave no answer about this domain in time; what is not known is left empty.
	Stuck bool
}

// XML is a domain's XML as libvirt gives it.
type XML struct {
	// Packed is the text, in whatever form the one who read it keeps it; nil when there is none.
	Packed fmt.Stringer
	// Hash is of the text; the same hash, the same bytes.
	Hash string
	// Meta is our record in it; nil when there is none.
	Meta *metadata.Metadata
	// Agent says that the guest has opened the guest agent's channel, which only the live XML shows.
	Agent bool
	// MACs are the MAC addresses of the interfaces, in their order, with spaces between them.
	MACs string
}

// HasAgent says whether a domain's XML shows that the guest has opened the guest agent's channel.
func HasAgent(text string) bool {
	return strings.Contains(text, "name='org.qemu.guest_agent.0' state='connected'")
}

// MACs are the MAC addresses of the interfaces in a domain's XML, in lower case, as XML has them.
func MACs(text string) string {
	var all []string
	for {
		_, rest, ok := strings.Cut(text, "<mac address='")
		mac, rest, ended := strings.Cut(rest, "'")
		if !ok || !ended {
			return strings.Join(all, " ")
		}
		all, text = append(all, strings.ToLower(mac)), rest
	}
}

// Plain is a text that is kept as it is.
type Plain string

func (p Plain) String() string { return string(p) }

// Text is the XML itself, empty when there is none. Each call may cost as much as a copy.
func (x XML) Text() string {
	if x.Packed == nil {
		return ""
	}
	return x.Packed.String()
}

// DomainState is libvirt's state of a domain.
type DomainState string

// The domain states, by libvirt's names (virDomainState).
const (
	DomainRunning     DomainState = "running"
	DomainBlocked     DomainState = "blocked"
	DomainPaused      DomainState = "paused"
	DomainShutdown    DomainState = "in shutdown"
	DomainShutoff     DomainState = "shut off"
	DomainCrashed     DomainState = "crashed"
	DomainPMSuspended DomainState = "pmsuspended"
	DomainUnknown     DomainState = "unknown"
)

// Active says whether there is a QEMU process.
func (d Domain) Active() bool { return d.ID >= 0 }

// Meta is the record that makes the domain ours: the inactive XML's, or the live one's of a transient domain.
func (d Domain) Meta() *metadata.Metadata {
	if d.Persistent {
		return d.Inactive.Meta
	}
	return d.Live.Meta
}
