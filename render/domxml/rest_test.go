package domxml

import (
	"slices"
	"testing"
)

// TestRest: the rest, merged over what is said, says it all.
func TestRest(t *testing.T) {
	for name, tt := range map[string]struct{ have, said, want string }{
		"nothing":      {"<domain><vcpu>2</vcpu></domain>", "<domain type='kvm'><vcpu>2</vcpu></domain>", ""},
		"an attribute": {"<domain><vcpu current='1'>2</vcpu></domain>", "<domain><vcpu>2</vcpu></domain>", "<domain><vcpu current='1'/></domain>"},
		"a text with its unit": {"<domain><memory unit='KiB'>2</memory></domain>", "<domain><memory unit='MiB'>1</memory></domain>",
			"<domain><memory unit='KiB'>2</memory></domain>"},
		"a named device": {
			"<domain><devices><disk><driver type='qcow2'/><target dev='vda'/><alias name='ua-root'/></disk></devices></domain>",
			"<domain><devices><disk><driver type='raw'/><alias name='ua-root'/></disk></devices></domain>",
			"<domain><devices><disk><driver type='qcow2'/><target dev='vda'/><alias name='ua-root'/></disk></devices></domain>"},
		"a list": {"<domain><os><boot dev='hd'/><boot dev='cdrom'/></os></domain>", "<domain><os><boot dev='hd'/></os></domain>",
			"<domain><os><boot dev='hd'/><boot dev='cdrom'/></os></domain>"},
		"a key": {"<domain><clock><timer name='pit' tickpolicy='delay'/><timer name='rtc'/></clock></domain>", "<domain><clock><timer name='rtc'/><timer name='pit'/></clock></domain>",
			"<domain><clock><timer tickpolicy='delay' name='pit'/></clock></domain>"},
		"what has no key": {
			"<domain><devices><serial type='pty'><log file='a'/></serial><serial type='pty'/></devices></domain>",
			"<domain><devices><serial type='pty'/><serial type='pty'/></devices></domain>",
			"<domain><devices><serial type='pty'><log file='a'/></serial><serial type='pty'/></devices></domain>"},
	} {
		have, said := parse(t, tt.have), parse(t, tt.said)
		got := Rest(have, said)
		if text := got.textOrNone(); text != "" && tt.want == "" || tt.want != "" && (got == nil || got.String() != parse(t, tt.want).String()) {
			t.Errorf("%s: the rest is\n%s", name, text)
		}
		all := said
		if got != nil {
			all = Merge(said, got)
		}
		if changes := Compare(have, all, nil); len(changes) > 0 {
			t.Errorf("%s: it still does not say %v", name, changes)
		}
	}
}

func (e *Element) textOrNone() string {
	if e == nil {
		return ""
	}
	return e.String()
}

// TestUnnamed: a device that is there without a name is known by what it is.
func TestUnnamed(t *testing.T) {
	want := parse(t, `<domain><devices><disk><target dev='vda'/><alias name='ua-root'/></disk><disk><target dev='vdb'/><alias name='ua-data'/></disk>
<sound model='ich9'><alias name='ua-sound'/></sound><rng model='virtio'/><input type='tablet' bus='usb'><alias name='ua-new'/></input></devices></domain>`)
	have := parse(t, `<domain><devices><disk><target dev='vdb'/><alias name='ua-data'/></disk><disk><target dev='vda'/></disk><sound model='ich9'/></devices></domain>`)
	names := Unnamed(want, have)
	if !slices.Equal(names, []string{"root", "sound"}) {
		t.Errorf("unnamed: %v", names)
	}
	next := Unname(want, names)
	if Named(next, "disk", "root") != nil || Named(next, "disk", "data") == nil || Named(want, "disk", "root") == nil {
		t.Errorf("without names it is\n%s", next)
	}
	if Unname(want, nil) != want || Unnamed(parse(t, "<domain/>"), have) != nil {
		t.Error("a domain without such devices has become another")
	}
}
