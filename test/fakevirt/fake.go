package fakevirt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// Libvirt has domains and volumes. Guests obey a shutdown request at once, unless they are Deaf.
type Libvirt struct {
	mu      sync.Mutex
	domains map[string]*domain
	volumes map[string]render.Volume // by pool/file
	fetched map[string]string        // images, by the path of the file that was fetched from them
	secrets map[string]plan.LibvirtSecret
	lastID  int32
	wake    chan struct{}
	deaf    map[string]bool
	broken  map[string]string
	clings  map[string]bool
	writes  int
}

type domain struct {
	inactive, live *domxml.Element
	id             int32
	state          plan.DomainState
	reason         string
	autostart      bool
}

// New returns one without domains.
func New() *Libvirt {
	return &Libvirt{domains: map[string]*domain{}, volumes: map[string]render.Volume{}, fetched: map[string]string{},
		secrets: map[string]plan.LibvirtSecret{},
		wake:    make(chan struct{}, 1), deaf: map[string]bool{}, broken: map[string]string{}, clings: map[string]bool{}}
}

// Wake never receives: tests make their passes themselves.
func (l *Libvirt) Wake() <-chan struct{} { return l.wake }

// DomainType is qemu.
func (l *Libvirt) DomainType(context.Context) (string, error) { return "qemu", nil }

// Observe returns all domains.
func (l *Libvirt) Observe(context.Context) (plan.World, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := plan.World{Secrets: []plan.LibvirtSecret{}}
	for _, id := range slices.Sorted(maps.Keys(l.secrets)) {
		w.Secrets = append(w.Secrets, l.secrets[id])
	}
	for _, name := range slices.Sorted(maps.Keys(l.domains)) {
		d := l.domains[name]
		out := plan.Domain{
			Name: name, UUID: d.either().Child("uuid").Text, ID: d.id, State: d.state, Reason: d.reason,
			Persistent: d.inactive != nil, Autostart: d.autostart,
		}
		var err error
		if out.Inactive, err = xml(d.inactive); err != nil {
			return w, err
		}
		if out.Live, err = xml(d.live); err != nil {
			return w, err
		}
		w.Domains = append(w.Domains, out)
	}
	return w, nil
}

func (d *domain) either() *domxml.Element {
	if d.inactive != nil {
		return d.inactive
	}
	return d.live
}

func xml(e *domxml.Element) (plan.XML, error) {
	if e == nil {
		return plan.XML{}, nil
	}
	text := e.String()
	m, err := metadata.Parse(text)
	return plan.XML{Packed: plan.Plain(text), Hash: fmt.Sprintf("%x", sha256.Sum256([]byte(text))), Meta: m, Agent: plan.HasAgent(text), MACs: plan.MACs(text)}, err
}

// Apply runs steps in order.
func (l *Libvirt) Apply(_ context.Context, steps []plan.Step) error {
	for _, s := range steps {
		if err := l.step(s); err != nil {
			return fmt.Errorf("cannot %s %s: %w", s.Op, s.Domain, err)
		}
	}
	return nil
}

func (l *Libvirt) step(s plan.Step) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	d := l.domains[s.Domain]
	if d == nil && !slices.Contains([]plan.Op{plan.OpVolumes, plan.OpDeleteVolumes, plan.OpDefine, plan.OpUndefine, plan.OpDestroy, plan.OpShutdown}, s.Op) {
		return errors.New("no such domain")
	}
	switch s.Op {
	case plan.OpVolumes:
		for _, v := range s.Volumes {
			if v.Fetch != nil {
				l.fetched[cmp.Or(v.Backing, v.Path)] = v.Fetch.String()
				if v.Kind == render.VolumeFetched || v.Kind == render.VolumeEmpty && !s.Fresh {
					continue
				}
			}
			old, there := l.volumes[v.Pool+"/"+v.File]
			if !there || v.Kind == render.VolumeEmpty && s.Fresh {
				l.volumes[v.Pool+"/"+v.File] = v
			} else if v.Size > old.Size && d.off() {
				old.Size = v.Size
				l.volumes[v.Pool+"/"+v.File] = old
			}
		}
	case plan.OpDeleteVolumes:
		for _, v := range s.Volumes {
			delete(l.volumes, v.Pool+"/"+v.File)
		}
	case plan.OpSecrets:
		for _, k := range s.Secrets {
			l.secrets[k.UUID] = plan.LibvirtSecret{UUID: k.UUID, Usage: k.Usage(s.Domain)}
		}
	case plan.OpDeleteSecrets:
		for _, k := range s.Secrets {
			delete(l.secrets, k.UUID)
		}
	case plan.OpDefine:
		return l.define(s)
	case plan.OpMetadata:
		for _, to := range []struct {
			wanted bool
			xml    *domxml.Element
		}{{s.Config, d.inactive}, {s.Live, d.live}} {
			if to.wanted && to.xml == nil {
				return errors.New("there is no such definition")
			}
			if to.wanted {
				s.Metadata.Put(to.xml)
			}
		}
	case plan.OpAutostart:
		d.autostart = s.On
	case plan.OpStart:
		if why := l.broken[s.Domain]; why != "" {
			return errors.New(why)
		}
		return l.start(d, s.Paused)
	case plan.OpShutdown:
		if d != nil && d.state == plan.DomainRunning && !l.deaf[s.Domain] {
			l.down(s.Domain, "shutdown")
		}
	case plan.OpDestroy:
		if d != nil && d.id >= 0 {
			l.down(s.Domain, "destroyed")
		}
	case plan.OpSuspend:
		d.state, d.reason = plan.DomainPaused, "user"
	case plan.OpResume:
		d.state, d.reason = plan.DomainRunning, "unpaused"
	case plan.OpUndefine:
		if d != nil && d.id >= 0 {
			return errors.New("the domain runs")
		}
		delete(l.domains, s.Domain)
	case plan.OpAttach, plan.OpDetach, plan.OpUpdate, plan.OpTune, plan.OpResize, plan.OpMemory, plan.OpVCPUs, plan.OpDescribe:
		return l.change(d, s)
	default:
		return fmt.Errorf("unknown step %q", s.Op)
	}
	return nil
}

func (d *domain) off() bool { return d == nil || d.id < 0 }

// define keeps the UUID and gives addresses as libvirt does: the first free root port.
func (l *Libvirt) define(s plan.Step) error {
	e, err := domxml.Parse(s.XML)
	if err != nil {
		return err
	}
	name := e.Child("name").Text
	d := l.domains[name]
	if d != nil && d.either().Child("uuid").Text != e.Child("uuid").Text {
		return fmt.Errorf("domain %s exists with another UUID", name)
	}
	if err := address(e); err != nil {
		return err
	}
	if d == nil {
		d = &domain{id: -1, state: plan.DomainShutoff, reason: "unknown"}
		l.domains[name] = d
	}
	d.inactive = e
	return nil
}

func address(e *domxml.Element) error {
	used := map[string]bool{}
	aliases := map[string]bool{}
	ports := []string{}
	for _, d := range e.Child("devices").Children {
		if a := d.Child("address"); a != nil {
			used[a.Attr("bus")] = true
		}
		if d.Attr("model") == "pcie-root-port" {
			ports = append(ports, d.Attr("index"))
		}
		if alias := d.UserAlias(); alias != "" && aliases[alias] {
			return fmt.Errorf("two devices have the alias ua-%s", alias)
		} else if alias != "" {
			aliases[alias] = true
		}
	}
	for _, d := range e.Child("devices").Children {
		if d.Child("address") != nil || d.Name != "disk" && d.Name != "interface" || d.Name == "disk" && d.Child("target").Attr("bus") != "virtio" {
			continue
		}
		for _, port := range ports {
			bus := fmt.Sprintf("0x%02s", hex(port))
			if !used[bus] {
				used[bus] = true
				d.Append(domxml.New("address", "type", "pci", "domain", "0x0000", "bus", bus, "slot", "0x00", "function", "0x0"))
				break
			}
		}
	}
	return nil
}

func hex(n string) string {
	var i int
	_, _ = fmt.Sscan(n, &i)
	return fmt.Sprintf("%x", i)
}

func (l *Libvirt) start(d *domain, paused bool) error {
	if d.id >= 0 {
		return nil
	}
	for _, disk := range d.inactive.Child("devices").Children {
		if s := disk.Child("source"); disk.Name == "disk" && s.Attr("pool") != "" {
			if _, ok := l.volumes[s.Attr("pool")+"/"+s.Attr("volume")]; !ok {
				return fmt.Errorf("no storage volume %s", s.Attr("volume"))
			}
		}
	}
	l.lastID++
	d.id, d.state, d.reason, d.live = l.lastID, plan.DomainRunning, "booted", d.inactive.Clone()
	if paused {
		d.state, d.reason = plan.DomainPaused, "starting up"
	}
	return nil
}

func (l *Libvirt) down(name, reason string) {
	d := l.domains[name]
	d.id, d.state, d.reason, d.live = -1, plan.DomainShutoff, reason, nil
	if d.inactive == nil {
		delete(l.domains, name)
	}
}

// GoDown makes a guest go down for libvirt's reason: shutdown, crashed, destroyed.
func (l *Libvirt) GoDown(name, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down(name, reason)
}

// Deafen makes a guest ignore requests to shut down.
func (l *Libvirt) Deafen(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf[name] = true
}

// RefuseStarts makes the starts of a domain fail with a message; they go well again when it is empty.
func (l *Libvirt) RefuseStarts(name, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken[name] = message
}

// Edit changes a domain's inactive XML, as a person with virsh would.
func (l *Libvirt) Edit(name string, change func(*domxml.Element)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.domains[name].inactive)
}

// Define defines a domain that is not gitvirt's.
func (l *Libvirt) Define(text string) error { return l.step(plan.Step{Op: plan.OpDefine, XML: text}) }

// Writes counts the steps that were run.
func (l *Libvirt) Writes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes
}

// Volumes are the names of all volumes, as pool/file, sorted.
func (l *Libvirt) Volumes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.volumes))
}

// Fetched are the images of files that were fetched, by the files' paths.
func (l *Libvirt) Fetched() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.fetched)
}

// String is the whole world as text.
func (l *Libvirt) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.domains)) {
		d := l.domains[name]
		fmt.Fprintf(&b, "domain %s %s (%s) autostart=%v\n", name, d.state, d.reason, d.autostart)
		fmt.Fprintf(&b, "inactive:\n%s", cmp.Or(fmt.Sprint(d.inactive), "none"))
	}
	for _, v := range slices.Sorted(maps.Keys(l.volumes)) {
		fmt.Fprintf(&b, "volume %s %d\n", v, l.volumes[v].Size)
	}
	return b.String()
}
