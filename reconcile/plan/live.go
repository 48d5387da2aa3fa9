package plan

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// Behind is one thing that is declared and that the running machine has not.
type Behind struct {
	Changes []Change
	// Effect is how it can come to the machine: EffectLive by Steps; EffectNextStart, EffectRestart or EffectRebuild without.
	Effect Effect
	// Why says why it cannot come live, where the field alone does not.
	Why string
	// Try names it among all that are tried; empty for what cannot come live.
	Try   string
	Steps []Step
	// Temporary says that it is a temporary device: it comes and goes live, whatever the rollout.
	Temporary bool
	// Guests says that all has been done and the guest has not followed, from the run's start maybe: it alone can do
	// something about it, a restart cannot.
	Guests bool

	order int
}

// comparison is a running machine beside what is declared of it.
type comparison struct {
	a               *Assessment
	machine         string
	want, live, was *domxml.Element
	inactive        *domxml.Element // as it is, or will be once it is defined
	temporary, old  []*domxml.Element
	slots           domxml.Slots
	list            []Behind
}

// compareLive finds what the running machine has not, and what its record is to say. inactive is the definition, as it is or
// is to be, and m its record.
func (a *Assessment) compareLive(memo *Memo, want, live, inactive *domxml.Element, m metadata.Metadata) {
	i, d := a.Instance, a.Domain
	was, old := recordOf(d.Live.Meta)
	forgetEmpty(live)
	live = domxml.AsStarted(live, was)
	c := &comparison{
		a: a, live: live, inactive: inactive, slots: m.Slots, machine: live.Child("os/type").Attr("machine"),
		temporary: i.Temporary, old: old, want: with(want, i.Temporary), was: was,
	}
	devices, rest := domxml.Devices(live, c.want, with(was, old))
	c.rest(rest)
	for _, device := range devices {
		c.device(device)
	}
	if d.Live.Meta != nil {
		c.sizes(*d.Live.Meta)
		if changes := secretChanges(*d.Live.Meta, i); len(changes) > 0 {
			c.add(Behind{Changes: changes, Effect: EffectRestart, Why: "QEMU is given secrets when it starts"})
		}
	}
	slices.SortStableFunc(c.list, func(a, b Behind) int { return cmp.Compare(a.order, b.order) })
	memo.Behind = c.list
	a.record(memo, c.slots, m, want, was, old)
}

// forgetEmpty removes what libvirt leaves in an empty drive: the number of the medium that was there.
func forgetEmpty(live *domxml.Element) {
	devices := live.Child("devices")
	if devices == nil {
		return
	}
	for _, d := range devices.Children {
		source := d.Child("source")
		if d.Attr("device") == "cdrom" && source != nil && len(source.Children) == 0 && len(source.Attrs) == 1 && source.Attrs[0].Name == "index" {
			d.Remove(source)
		}
	}
}

// recordOf is what a live record says was declared: of the definition, and of temporary devices.
func recordOf(m *metadata.Metadata) (was *domxml.Element, temporary []*domxml.Element) {
	if m == nil {
		return nil, nil
	}
	// What somebody edited so that it cannot be read counts as nothing: then nothing is removed.
	was, _ = metadata.Unpack(m.Applied)
	if t, err := metadata.Unpack(m.Temporary); err == nil && t != nil {
		temporary = t.Children
	}
	return was, temporary
}

// with is a domain with some devices more; nil stays nil when there are none.
func with(domain *domxml.Element, devices []*domxml.Element) *domxml.Element {
	if len(devices) == 0 {
		return domain
	}
	if domain == nil {
		domain = domxml.New("domain")
	}
	domain = domain.Clone()
	all := domain.Ensure("devices")
	for _, d := range devices {
		all.Append(d.Clone())
	}
	return domain
}

func (c *comparison) step(s Step) Step { return c.a.step(s) }

// add adds what the machine is behind with. The same content is the same try.
func (c *comparison) add(b Behind) {
	if b.Effect == EffectLive {
		content := ""
		for _, s := range b.Steps {
			content += fmt.Sprintf("%s %s %s %d %v %s %s\n", s.Op, s.XML, s.Device, s.Amount, s.Tune, s.Title, s.Description)
		}
		b.Try = fmt.Sprintf("%s %x", b.Changes[0].Path, sha256.Sum256([]byte(content)))
	}
	c.list = append(c.list, b)
}

// rest is for what is not of a device.
func (c *comparison) rest(changes []domxml.Change) {
	groups := map[Effect][]domxml.Change{}
	at := func(path string) bool {
		return slices.ContainsFunc(changes, func(o domxml.Change) bool { return o.Path == path })
	}
	described := false
	for _, change := range changes {
		switch {
		case change.Path == "title" || change.Path == "description":
			described = true
			groups[EffectLive] = append(groups[EffectLive], change)
		case change.Path == "currentMemory" && !at("memory"):
			c.add(c.memory(change))
		case change.Path == "vcpu@current" && !at("vcpu"):
			c.add(c.vcpus(change))
		case seedChange(change.From, change.To) == render.SeedWaits:
			groups[EffectRebuild] = append(groups[EffectRebuild], change)
		case effectOf(change.Path) == EffectNextStart:
			groups[EffectNextStart] = append(groups[EffectNextStart], change)
		default:
			groups[EffectRestart] = append(groups[EffectRestart], change)
		}
	}
	if described {
		c.add(Behind{Changes: fields(groups[EffectLive]), Effect: EffectLive, Steps: []Step{c.step(Step{
			Op: OpDescribe, Title: textOf(c.want, "title"), Description: textOf(c.want, "description"),
		})}})
	}
	for _, effect := range []Effect{EffectRebuild, EffectNextStart, EffectRestart} {
		if list := groups[effect]; len(list) > 0 {
			c.add(Behind{Changes: fields(list), Effect: effect})
		}
	}
}

func textOf(e *domxml.Element, name string) string {
	if child := e.Child(name); child != nil {
		return child.Text
	}
	return ""
}

func (c *comparison) memory(change domxml.Change) Behind {
	b := Behind{Changes: fields([]domxml.Change{change}), Effect: EffectRestart}
	want, ok := domxml.KiB(c.want.Child("currentMemory"))
	most, known := domxml.KiB(c.live.Child("memory"))
	switch {
	case !ok || !known:
	case want > most:
		b.Why = fmt.Sprintf("the running machine was started with at most %s", kib(strconv.FormatUint(most, 10)))
	case c.live.Child("devices/memballoon") == nil || c.live.Child("devices/memballoon").Attr("model") == "none":
		b.Why = "the running machine has no balloon"
	default:
		b.Effect, b.Steps = EffectLive, []Step{c.step(Step{Op: OpMemory, Amount: want})}
		// A guest has all of its memory until its balloon driver runs, or always when it has none.
		said, ok := domxml.KiB(c.was.Child("currentMemory"))
		b.Guests = ok && said == want
	}
	return b
}

func (c *comparison) vcpus(change domxml.Change) Behind {
	b := Behind{Changes: fields([]domxml.Change{change}), Effect: EffectRestart}
	most, err := strconv.ParseUint(textOf(c.live, "vcpu"), 10, 32)
	if err != nil {
		return b
	}
	want := most // without the attribute all of them are there
	if said := c.want.Child("vcpu").Attr("current"); said != "" {
		if want, err = strconv.ParseUint(said, 10, 32); err != nil {
			return b
		}
	}
	have := most
	if current := c.live.Child("vcpu").Attr("current"); current != "" {
		if have, err = strconv.ParseUint(current, 10, 32); err != nil {
			return b
		}
	}
	if want < have && c.live.Attr("type") == "qemu" {
		// Seen with QEMU 7.2: two of 67 booted guests that were edited at random died of a segmentation fault there.
		b.Why = "QEMU without KVM may crash when a CPU is unplugged"
		return b
	}
	b.Effect, b.Steps = EffectLive, []Step{c.step(Step{Op: OpVCPUs, Amount: want})}
	return b
}

// sizes are the disks that are larger now than when they were plugged in.
func (c *comparison) sizes(m metadata.Metadata) {
	i := c.a.Instance
	for n, change := range sizeChanges(m, i) {
		v := i.Volumes[slices.IndexFunc(i.Volumes, func(v render.Volume) bool { return change.Path == "volumes["+v.Name+"].size" })]
		b := Behind{Changes: []Change{change}, Effect: EffectRestart, order: n}
		disk := domxml.Named(c.live, "disk", v.Name)
		if disk == nil || v.Size%512 != 0 {
			c.add(b)
			continue
		}
		grown := m
		grown.Volumes = slices.Clone(m.Volumes)
		grown.Volumes[find(grown.Volumes, v.Pool, v.File)].Size = v.Size // it has grown, so it is there
		b.Effect, b.Steps = EffectLive, []Step{
			c.step(Step{Op: OpResize, Device: disk.Child("target").Attr("dev"), Amount: uint64(v.Size), Volumes: []render.Volume{v}}),
			c.step(Step{Op: OpMetadata, Metadata: &grown, Live: true}),
		}
		c.add(b)
	}
}
