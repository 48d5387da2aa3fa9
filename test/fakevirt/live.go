package fakevirt

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/domxml"
)

// ErrRefused is what a running domain says against a change.
var ErrRefused = errors.New("refused")

// Cling makes a guest keep devices that it is asked to give up.
func (l *Libvirt) Cling(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clings[name] = true
}

// EditLive changes a running domain, as a person with virsh would.
func (l *Libvirt) EditLive(name string, change func(*domxml.Element)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.domains[name].live)
}

// Live is the XML of a running domain; nil when it does not run.
func (l *Libvirt) Live(name string) *domxml.Element {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.domains[name].live.Clone()
}

// change is a step that changes a running domain.
func (l *Libvirt) change(d *domain, s plan.Step) error {
	if d.off() {
		return fmt.Errorf("%w: the domain does not run", ErrRefused)
	}
	switch s.Op {
	case plan.OpAttach, plan.OpDetach, plan.OpUpdate:
		return l.device(d, s)
	case plan.OpMemory:
		d.live.Ensure("currentMemory").Text = strconv.FormatUint(s.Amount, 10)
	case plan.OpVCPUs:
		d.live.Ensure("vcpu").SetAttr("current", strconv.FormatUint(s.Amount, 10))
	case plan.OpDescribe:
		for name, text := range map[string]string{"title": s.Title, "description": s.Description} {
			if e := d.live.Child(name); e != nil {
				d.live.Remove(e)
			}
			if text != "" {
				d.live.Append(domxml.New(name)).Text = text
			}
		}
	case plan.OpTune, plan.OpResize:
		disk := slices.IndexFunc(d.live.Child("devices").Children, func(e *domxml.Element) bool {
			return e.Name == "disk" && e.Child("target").Attr("dev") == s.Device
		})
		if disk < 0 {
			return fmt.Errorf("%w: there is no disk %s", ErrRefused, s.Device)
		}
		l.disk(d.live.Child("devices").Children[disk], s)
	}
	return nil
}

func (l *Libvirt) disk(e *domxml.Element, s plan.Step) {
	if s.Op == plan.OpResize {
		key := e.Child("source").Attr("pool") + "/" + e.Child("source").Attr("volume")
		v := l.volumes[key]
		v.Size = max(v.Size, int64(s.Amount))
		l.volumes[key] = v
		return
	}
	if old := e.Child("iotune"); old != nil {
		e.Remove(old)
	}
	tune := e.Append(domxml.New("iotune"))
	for _, p := range s.Tune {
		if p.Value > 0 {
			tune.Append(domxml.New(p.Name)).Text = strconv.FormatUint(p.Value, 10)
		}
	}
}

// device plugs, unplugs and changes. As with libvirt, what is plugged in needs a place where nothing is.
func (l *Libvirt) device(d *domain, s plan.Step) error {
	e, err := domxml.Parse(s.XML)
	if err != nil {
		return err
	}
	devices := d.live.Child("devices")
	have := domxml.Device(d.live, e)
	switch {
	case s.Op == plan.OpAttach && have != nil:
		return fmt.Errorf("%w: it is there", ErrRefused)
	case s.Op == plan.OpAttach:
		next := d.live.Clone()
		next.Child("devices").Append(e)
		if err := address(next); err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		places := map[string]bool{}
		for _, x := range next.Child("devices").Children {
			if a := x.Child("address"); a != nil && a.Attr("type") == "pci" && places[a.Attr("bus")] {
				return fmt.Errorf("%w: two devices at %s", ErrRefused, a.Attr("bus"))
			} else if a != nil && a.Attr("type") == "pci" {
				places[a.Attr("bus")] = true
			}
		}
		d.live = next
	case have == nil:
		return fmt.Errorf("%w: it is not there", ErrRefused)
	case s.Op == plan.OpUpdate:
		devices.Children[slices.Index(devices.Children, have)] = e
	case !l.clings[d.live.Child("name").Text]:
		devices.Remove(have)
	}
	return nil
}
