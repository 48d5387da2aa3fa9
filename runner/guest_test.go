package runner

import (
	"slices"
	"testing"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// TestAgentNamesNoAddressOfTheHost: what a guest's agent says is the guest's word, and a connection there is the host's.
func TestAgentNamesNoAddressOfTheHost(t *testing.T) {
	var said []libvirt.DomainIPAddr
	for _, a := range []string{"127.0.0.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "224.0.0.1", "<script>", "10.0.0.5", "2001:db8::5"} {
		said = append(said, libvirt.DomainIPAddr{Addr: a})
	}
	var got []string
	for _, a := range addressesOf([]libvirt.DomainInterface{{Name: "eth0", Addrs: said}}, plan.FromAgent) {
		got = append(got, a.IP.String())
	}
	if want := []string{"10.0.0.5", "2001:db8::5"}; !slices.Equal(got, want) {
		t.Errorf("addresses are %v, want %v", got, want)
	}
}
