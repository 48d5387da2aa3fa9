package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

const table = `IP address       HW type     Flags       HW address            Mask     Device
192.0.2.10       0x1         0x2         52:54:00:AA:00:01     *        virbr0
192.0.2.11       0x1         0x0         00:00:00:00:00:00     *        virbr0
169.254.169.254  0x1         0x2         52:54:00:aa:00:01     *        virbr0
198.51.100.5     0x1         0x6         52:54:00:aa:00:01     *        br0
nonsense
`

// TestTheHostsNeighbours: entries that were answered count, by their MAC addresses, and addresses that are of no network do not.
func TestTheHostsNeighbours(t *testing.T) {
	var got []string
	for _, a := range parseARP([]byte(table)) {
		if a.MAC != "52:54:00:aa:00:01" || a.Source != plan.FromARP {
			t.Errorf("%+v", a)
		}
		got = append(got, a.IP.String())
	}
	if want := []string{"192.0.2.10", "198.51.100.5"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if found := newNeighbours("/nowhere").known(); found != nil {
		t.Errorf("without a table: %v", found)
	}
}

func FuzzARP(f *testing.F) {
	f.Add([]byte(table))
	f.Fuzz(func(t *testing.T, table []byte) {
		for _, a := range parseARP(table) {
			if !a.IP.IsValid() || a.MAC == "" || strings.ContainsAny(a.MAC, " \n") {
				t.Errorf("%+v", a)
			}
		}
	})
}
