package domxml

import "testing"

// TestOneDifferenceHidesNoOther: a running domain lists its CPUs one by one, which nobody declared. What it lacks is told, though
// something else is different too.
func TestOneDifferenceHidesNoOther(t *testing.T) {
	parse := func(text string) *Element {
		t.Helper()
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	live := parse(`<domain type='qemu'><memory unit='KiB'>163840</memory><currentMemory unit='KiB'>163840</currentMemory><vcpu placement='static'>2</vcpu>
		<vcpus><vcpu id='0' enabled='yes' hotpluggable='no' order='1'/><vcpu id='1' enabled='yes' hotpluggable='yes' order='2'/></vcpus></domain>`)
	want := parse(`<domain type='qemu'><memory unit='MiB'>160</memory><currentMemory unit='MiB'>128</currentMemory><vcpu current='1'>2</vcpu></domain>`)
	for name, was := range map[string]*Element{"declared before": want, "declared now": parse(`<domain type='qemu'><vcpu>2</vcpu></domain>`), "not known": nil} {
		paths := map[string]bool{}
		_, rest := Devices(live, want, was)
		for _, c := range rest {
			paths[c.Path] = true
		}
		if len(paths) != 2 || !paths["vcpu@current"] || !paths["currentMemory"] {
			t.Errorf("%s: %v", name, rest)
		}
	}
}
