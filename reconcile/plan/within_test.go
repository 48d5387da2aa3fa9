package plan

import "testing"

// TestWithin: the parts of a field are told from fields whose names only begin alike.
func TestWithin(t *testing.T) {
	const disk = "domain.devices.disks[a]"
	for _, c := range []struct {
		part, whole string
		want        bool
	}{
		{disk, disk, true},
		{disk + ".cache", disk, true},
		{disk, disk + ".cache", false},
		{"domain.devices.disks[ab]", disk, false},
		{"domainXML:devices/disk[a]/iotune/total_bytes_sec", "domainXML:devices/disk[a]/iotune", true},
		{"domainXML:devices/disk[a]/iotune", "domainXML:devices/disk[a]", true},
		{"domainXML:devices/disk[a]@snapshot", "domainXML:devices/disk[a]", true},
		{"domain.memory.guestMax", "domain.memory.guest", false},
	} {
		if got := within(c.part, c.whole); got != c.want {
			t.Errorf("%s within %s: %v", c.part, c.whole, got)
		}
	}
}
