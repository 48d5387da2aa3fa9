package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// Placed is a machine that runs, or is to be stopped, on a host.
type Placed struct {
	// Run is the run state with its host: a document's, or one made for a member of a group.
	Run *manifest.RunState
	// Group is nil for a machine of its own; Index is the member's number.
	Group *manifest.Group
	Index int
	// said is the document.
	said any
}

// Placement is all machines of a revision with their hosts, but for those of which the set knows no more than that they are on
// other hosts (manifest.Away). It is for one goroutine.
type Placement struct {
	// Machines are sorted by name.
	Machines []Placed
	// Problems are of documents that cannot be placed; their machines are not among Machines.
	Problems []manifest.Problem

	set      *manifest.Set
	devices  map[string]allocation              // by host
	networks map[string][]*manifest.HostNetwork // by host
	pins     map[string]*Pinned                 // by machine
	sealed   func(path string) ([]byte, bool)
}

// hostnameLabel is a label that every Host has.
const hostnameLabel = "kubernetes.io/hostname"

// Place finds a host for every machine of a revision. It is a function of the revision, and of the host that machines of
// KubeVirt's manifests are on when nothing says where: all agents come to the same.
func Place(set *manifest.Set, defaultHost string) *Placement {
	p := &Placement{set: set, devices: map[string]allocation{}, pins: map[string]*Pinned{},
		networks: map[string][]*manifest.HostNetwork{}}
	taken := map[string]string{} // names of instances that groups have, and what they are of
	for _, name := range slices.Sorted(maps.Keys(set.RunStates)) {
		r := set.RunStates[name]
		host, at, why := p.host(r, defaultHost)
		if why != "" {
			p.fail(&r.Header, at, why)
			continue
		}
		run := r
		if run.Spec.Host != host {
			moved := *r
			moved.Spec.Host = host
			run = &moved
		}
		p.Machines = append(p.Machines, Placed{Run: run, said: r})
	}
	for _, name := range slices.Sorted(maps.Keys(set.Groups)) {
		p.group(set.Groups[name], defaultHost, taken)
	}
	slices.SortFunc(p.Machines, func(a, b Placed) int { return cmp.Compare(a.Run.Metadata.Name, b.Run.Metadata.Name) })
	return p
}

func (p *Placement) fail(h *manifest.Header, field, message string) {
	p.Problems = append(p.Problems, h.Problem(field, message))
}

// host is that of a run state; why says what is wrong with the field at.
func (p *Placement) host(r *manifest.RunState, defaultHost string) (host, at, why string) {
	switch {
	case r.Spec.Host != "":
		return r.Spec.Host, "", ""
	case r.Spec.Placement != nil:
		at = "spec.placement.hostSelector"
		if r.Written.KubeVirt {
			at = r.Written.Spec + ".nodeSelector"
		}
		hosts := p.selected(r.Spec.Placement.HostSelector)
		if len(hosts) == 0 {
			return "", at, noHost
		}
		return highest(r.Metadata.Name, hosts), "", ""
	case defaultHost != "":
		return defaultHost, "", ""
	}
	return "", r.Written.Spec + ".nodeSelector", noDefault
}

const (
	noHost    = "no Host document has these labels: add them to one, or select others"
	noDefault = "is missing: say the host as " + hostnameLabel + " here, or as defaultHost in the agents' configuration (--default-host)"
)

// selected are the hosts that a selector matches, in the order of their names.
func (p *Placement) selected(s *metav1.LabelSelector) []string {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil // it was checked when it was read
	}
	var hosts []string
	for name, h := range p.set.Hosts {
		set := labels.Set(maps.Clone(h.Metadata.Labels))
		if set == nil {
			set = labels.Set{}
		}
		set[hostnameLabel] = name
		if selector.Matches(set) {
			hosts = append(hosts, name)
		}
	}
	slices.SortFunc(hosts, natural)
	return hosts
}

// highest is the host with the highest number for a machine (rendezvous hashing): a host that comes takes over those for
// which it has the highest, one that goes gives away its own, and nothing else moves.
func highest(machine string, hosts []string) string {
	number := func(host string) uint64 {
		h := sha256.Sum256([]byte(machine + "\x00" + host))
		return binary.BigEndian.Uint64(h[:])
	}
	return slices.MaxFunc(hosts, func(a, b string) int { return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b)) })
}

// group places the members of a group.
func (p *Placement) group(g *manifest.Group, defaultHost string, taken map[string]string) {
	hosts := g.Spec.Hosts
	switch {
	case g.Spec.HostSelector != nil:
		if hosts = p.selected(g.Spec.HostSelector); len(hosts) == 0 {
			at := "spec.hostSelector"
			if g.Written.KubeVirt {
				at = g.Written.Spec + ".nodeSelector"
			}
			p.fail(&g.Header, at, noHost)
			return
		}
	case len(hosts) == 0 && defaultHost != "":
		hosts = []string{defaultHost}
	case len(hosts) == 0:
		p.fail(&g.Header, g.Written.Spec+".nodeSelector", noDefault)
		return
	}
	for i, n := range Spread(g.Size(), len(hosts)) {
		name := g.Metadata.Name + "-" + strconv.Itoa(i)
		other := taken[name]
		if d := p.set.Find(manifest.KindRunState, name); d != nil {
			other = d.Written + " " + name
		}
		if other != "" {
			p.fail(&g.Header, "metadata.name", fmt.Sprintf("its member %s has the name of the %s: rename one of them", name, other))
			continue
		}
		taken[name] = "member of the " + g.Written.Kind + " " + g.Metadata.Name
		r := &manifest.RunState{Header: g.Header}
		r.Metadata = manifest.Meta{Name: name, Labels: g.Metadata.Labels, Annotations: g.Metadata.Annotations}
		r.Spec = manifest.RunStateSpec{Config: g.ConfigName(), Host: hosts[n], State: g.Spec.State, Run: g.Spec.Run,
			Revision: g.Spec.Revision, MoveVolumes: g.Spec.MoveVolumes}
		p.Machines = append(p.Machines, Placed{Run: r, Group: g, Index: i, said: g})
	}
}

// Spread gives each of the members of a group one of its hosts, by their numbers. It does as if the hosts had come one
// after the other, each taking over what the others had too much of. So the first members are all on different hosts; a
// member that is added or taken away at the end moves no other; and a host that is added at the end, or taken away from
// there, moves only its own share. No host has more than one member above its fair share.
func Spread(members, hosts int) []int {
	at := make([]int, members)
	for newest := 1; newest < hosts; newest++ {
		load := make([]int, newest+1)
		for i := range at {
			if fair := i/(newest+1) + 1; load[at[i]] >= fair && load[newest] < fair {
				at[i] = newest
			}
			load[at[i]]++
		}
	}
	return at
}

// natural compares names as people count: kvm9 comes before kvm10.
func natural(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			na, nb := trimZeros(a[:da]), trimZeros(b[:db])
			if c := cmp.Or(cmp.Compare(len(na), len(nb)), cmp.Compare(na, nb)); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func trimZeros(s string) string {
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return s
}
