package plan

import (
	"testing"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// TestCPUsAreTakenAwayUnderKVMOnly: QEMU without KVM may crash when a CPU is unplugged, and a commit is to stop no machine.
func TestCPUsAreTakenAwayUnderKVMOnly(t *testing.T) {
	parse := func(kind, current string) *domxml.Element {
		t.Helper()
		e, err := domxml.Parse("<domain type='" + kind + "'><vcpu placement='static'" + current + ">4</vcpu></domain>")
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, c := range []struct {
		kind, has, wants string
		want             Effect
	}{
		{"kvm", "", " current='2'", EffectLive},
		{"kvm", " current='2'", "", EffectLive},
		{"qemu", " current='2'", "", EffectLive},
		{"qemu", " current='2'", " current='3'", EffectLive},
		{"qemu", "", " current='2'", EffectRestart},
		{"qemu", " current='3'", " current='2'", EffectRestart},
	} {
		cmp := &comparison{a: &Assessment{Name: "web"}, live: parse(c.kind, c.has), want: parse(c.kind, c.wants)}
		b := cmp.vcpus(domxml.Change{Path: "vcpu@current"})
		if b.Effect != c.want || (b.Why != "") != (c.want == EffectRestart) {
			t.Errorf("%s from %q to %q is %s %q, want %s", c.kind, c.has, c.wants, b.Effect, b.Why, c.want)
		}
	}
}
