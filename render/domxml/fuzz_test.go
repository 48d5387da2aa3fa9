package domxml

import (
	"strings"
	"testing"
)

// FuzzConverge takes any three documents for what there is, what is declared and what was: nothing of it fails, a declaration
// differs from itself in nothing, and what was converged once is converged. It ends, because a machine would be redefined for
// ever otherwise.
func FuzzConverge(f *testing.F) {
	have, want := typical(1)
	f.Add(have, want.String(), want.String())
	f.Add(`<domain><devices><disk><target dev='vda'/></disk></devices></domain>`, `<domain><memory>5</memory><devices/></domain>`, `<domain><devices><disk><target dev='vda'/></disk></devices></domain>`)
	f.Add(`<domain><vcpu>2</vcpu><cpu><numa><cell cpus='0-1' memory='9'/></numa></cpu></domain>`, `<domain><memory>8</memory><currentMemory>9</currentMemory></domain>`, `<domain><currentMemory>1</currentMemory></domain>`)
	f.Add(`<domain><devices><serial type='udp'><source mode='bind' service='1'/></serial><console/></devices></domain>`, `<domain><devices><console type='udp'><source service='2'/></console></devices></domain>`, `<domain/>`)
	f.Add(`<domain><devices><input type='a'/><input type='a'/></devices></domain>`, `<domain><devices><input type='a'/></devices></domain>`, `<domain><devices><input type='a'/><input type='a'/></devices></domain>`)
	f.Fuzz(func(t *testing.T, haveText, wantText, wasText string) {
		var trees [3]*Element
		for i, text := range []string{haveText, wantText, wasText} {
			e, err := Parse(text)
			if err != nil || e.Name != "domain" {
				return
			}
			trees[i] = e
		}
		have, want, was := trees[0], trees[1], trees[2]
		before := have.String() + want.String() + was.String()
		if changes := Compare(want, want, want); len(changes) != 0 {
			t.Errorf("a declaration differs from itself: %v", changes)
		}
		for _, was := range []*Element{was, nil, want} {
			next, _ := Converge(have, want, was)
			again, changes := Converge(next, want, want)
			if len(changes) != 0 {
				t.Errorf("what was converged differs: %v\n%s", changes, next)
			}
			if again.String() != next.String() {
				t.Errorf("converging again changed it from\n%s\nto\n%s", next, again)
			}
		}
		if have.String()+want.String()+was.String() != before {
			t.Error("what was given was changed")
		}
		empty := &Element{Name: "domain"}
		next, _ := Converge(want, empty, want)
		if changes := Compare(empty, next, want); len(changes) != 0 {
			t.Errorf("what was taken back is there still: %v\n%s", changes, next)
		}
		if text := next.String(); !strings.HasPrefix(text, "<domain") {
			t.Errorf("what is left is %q", text)
		}
	})
}
