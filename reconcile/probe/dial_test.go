package probe

import "testing"

// TestNameDoesNotLeadToTheHost: an address in a probe is for the policy to judge, and what a name stands for nobody could.
func TestNameDoesNotLeadToTheHost(t *testing.T) {
	for _, host := range []string{"", "127.0.0.1", "::1", "localhost"} {
		if dialer(host).Control != nil {
			t.Errorf("%q is judged here", host)
		}
	}
	judge := dialer("guest.example.org").Control
	for address, want := range map[string]bool{
		"127.0.0.1:80": false, "[::1]:80": false, "169.254.169.254:80": false, "0.0.0.0:80": false, "[fe80::1%lo]:80": false,
		"[::ffff:127.0.0.1]:80": false, "nonsense": false, "10.0.0.1:80": true, "[2001:db8::1]:80": true,
	} {
		if err := judge("tcp", address, nil); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}
