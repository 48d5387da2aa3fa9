package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
)

// The order of live changes: what goes makes room for what comes, and a disk comes after its controller.
const (
	orderGoes = iota + 1
	orderChanges
	orderController
	orderComes
)

// device is one device that differs.
func (c *comparison) device(d domxml.DeviceChange) {
	switch {
	case d.Have == nil:
		c.comes(d)
	case d.Next == nil:
		c.goes(d)
	default:
		c.changes(d)
	}
}

// comes is for a device that the machine has not.
func (c *comparison) comes(d domxml.DeviceChange) {
	b := Behind{Changes: fields(d.Changes), Effect: EffectRestart, order: orderComes}
	if d.Want.Name == "controller" {
		b.order = orderController
	}
	if !domxml.Pluggable(c.machine, d.Want) {
		c.add(b)
		return
	}
	device, slots := domxml.Device(c.inactive, d.Want), c.slots
	if b.Temporary = isOf(c.temporary, d.Want); b.Temporary {
		device, slots = domxml.Plug(d.Want, c.live, c.inactive, c.slots)
	}
	switch {
	case device == nil: // somebody takes it out of the definition just now
	case !domxml.HasPort(c.live, device):
		b.Why = "the running machine has no PCIe port left for it"
	default:
		b.Effect = EffectLive
		b.Steps = append(c.volume(device), c.step(Step{Op: OpAttach, XML: device.String()}))
		if b.Temporary {
			c.slots = slots
		}
	}
	c.add(b)
}

// volume makes what a disk needs of its own. The volumes of disks that persist are there already: they were made before
// the disk was defined.
func (c *comparison) volume(device *domxml.Element) []Step {
	i := c.a.Instance
	for _, v := range slices.Concat(i.Volumes, i.TemporaryVolumes) {
		ours := slices.ContainsFunc(i.TemporaryVolumes, func(t render.Volume) bool { return t.Name == v.Name })
		if v.Name == device.UserAlias() && (v.Kind == render.VolumeEmpty || ours) && v.Made() {
			return []Step{c.step(Step{Op: OpVolumes, Volumes: []render.Volume{v}, Plug: true})}
		}
	}
	return nil
}

// goes is for a device that nobody declares any more.
func (c *comparison) goes(d domxml.DeviceChange) {
	b := Behind{Changes: fields(d.Changes), Effect: EffectRestart, order: orderGoes, Temporary: isOf(c.old, d.Have)}
	switch {
	case d.Have.Name == "controller":
		b.Effect = EffectNextStart // an idle one is nothing to the guest, and its disk may not be gone yet
	case domxml.Pluggable(c.machine, d.Have):
		b.Effect, b.Steps = EffectLive, []Step{c.step(Step{Op: OpDetach, XML: d.Have.String()})}
	}
	c.add(b)
}

// changes is for a device that stays.
func (c *comparison) changes(d domxml.DeviceChange) {
	groups := map[Effect][]domxml.Change{}
	var update, tune []domxml.Change
	for _, change := range d.Changes {
		if isEmpty(d) && strings.HasSuffix(change.Path, "/driver@type") {
			continue // libvirt forgets the format with the medium
		}
		effect, isSeed := seedEffect(change.From, change.To)
		if !isSeed {
			effect = c.effect(d, change.Path)
		}
		switch {
		case effect == EffectLive && strings.Contains(change.Path, "/iotune"):
			tune = append(tune, change)
		case effect == EffectLive:
			update = append(update, change)
		default:
			groups[effect] = append(groups[effect], change)
		}
	}
	if len(tune) > 0 {
		params, ok := limits(d.Have.Child("iotune"), d.Next.Child("iotune"))
		b := Behind{Changes: fields(tune), Effect: EffectRestart, order: orderChanges}
		if ok {
			b.Effect, b.Steps = EffectLive, []Step{c.step(Step{Op: OpTune, Device: d.Have.Child("target").Attr("dev"), Tune: params})}
		}
		c.add(b)
	}
	if len(update) > 0 {
		from := d.Next
		if isEmpty(d) {
			from = domxml.Graft(from, domxml.New("disk"), "source") // an empty drive has not even libvirt's own words there
		}
		next := domxml.Graft(d.Have, from, changeable[d.Have.Name]...)
		if d.Have.Name == "disk" {
			// What was below the old medium is not below the new one.
			next = domxml.Graft(next, domxml.New("disk"), "backingStore")
			if driver := next.Child("driver"); driver != nil {
				driver.SetAttr("type", d.Next.Child("driver").Attr("type"))
			}
		}
		c.add(Behind{Changes: fields(update), Effect: EffectLive, order: orderChanges, Steps: []Step{c.step(Step{Op: OpUpdate, XML: next.String()})}})
	}
	for _, effect := range []Effect{EffectRebuild, EffectNextStart, EffectRestart} {
		if list := groups[effect]; len(list) > 0 {
			c.add(Behind{Changes: fields(list), Effect: effect, order: orderChanges})
		}
	}
}

// isEmpty says whether a drive is to have no medium.
func isEmpty(d domxml.DeviceChange) bool {
	return d.Have.Name == "disk" && (d.Have.Attr("device") == "cdrom" || d.Have.Attr("device") == "floppy") && d.Want.Child("source") == nil
}

// changeable are the parts of devices that libvirt's update of a running one can change.
var changeable = map[string][]string{
	"disk":      {"@type", "source"},
	"interface": {"@type", "source", "link", "bandwidth", "filterref"},
	"graphics":  {"@passwd", "@passwdValidTo"},
}

// effect is what a change of this very device does, where the table says under what conditions.
func (c *comparison) effect(d domxml.DeviceChange, path string) Effect {
	effect := effectOf(path)
	if effect != EffectLive {
		return effect
	}
	is := func(list ...string) bool {
		return slices.Contains(list, d.Have.Attr("type")) && slices.Contains(list, d.Next.Attr("type"))
	}
	part := path[strings.LastIndexByte(path, ']')+1:]
	switch d.Have.Name {
	case "disk":
		removable := d.Have.Attr("device") == "cdrom" || d.Have.Attr("device") == "floppy"
		if !strings.HasPrefix(part, "/iotune") && !removable {
			return EffectRestart
		}
	case "interface":
		switch {
		case strings.HasPrefix(part, "/source"), part == "@type":
			if !is("network", "bridge") {
				return EffectRestart
			}
		case strings.HasPrefix(part, "/bandwidth"), strings.HasPrefix(part, "/filterref"):
			if !is("network", "bridge", "direct", "ethernet") {
				return EffectRestart
			}
		}
	}
	return effect
}

// limits are the parameters that bring a disk from its limits to others: what is not said any more is 0, which is no limit.
// ok is false when there is something that is no number.
func limits(have, want *domxml.Element) (params []Param, ok bool) {
	said := map[string]bool{}
	if want != nil {
		for _, l := range want.Children {
			said[l.Name] = true
			if l.Name == "group_name" {
				params = append(params, Param{Name: l.Name, Text: l.Text})
				continue
			}
			n, err := strconv.ParseUint(l.Text, 10, 64)
			if err != nil {
				return nil, false
			}
			params = append(params, Param{Name: l.Name, Value: n})
		}
	}
	if have != nil {
		for _, l := range have.Children {
			if !said[l.Name] && l.Name != "group_name" {
				params = append(params, Param{Name: l.Name})
			}
		}
	}
	slices.SortFunc(params, func(a, b Param) int { return strings.Compare(a.Name, b.Name) })
	return params, true
}

// isOf says whether a device is one of a list: by its name, or a controller by its number.
func isOf(list []*domxml.Element, device *domxml.Element) bool {
	return slices.ContainsFunc(list, func(e *domxml.Element) bool {
		if name := device.UserAlias(); name != "" || device.Name != "controller" {
			return name != "" && name == e.UserAlias()
		}
		return e.Name == device.Name && e.Attr("type") == device.Attr("type") && e.Attr("index") == device.Attr("index")
	})
}

// String is a limit as a person would write it.
func (p Param) String() string {
	if p.Text != "" {
		return p.Name + "=" + p.Text
	}
	return fmt.Sprintf("%s=%d", p.Name, p.Value)
}
