package oci

import (
	"net/http"
	"strings"
	"testing"
)

// TestNoRegistryIsOnTheHostsOwnLink, whatever its name was.
func TestNoRegistryIsOnTheHostsOwnLink(t *testing.T) {
	for address, want := range map[string]bool{
		"169.254.169.254:80": false, "[fe80::1%eth0]:443": false, "[::ffff:169.254.169.254]:80": false, "[fd00:ec2::254]:80": false,
		"224.0.0.1:443": false, "nonsense": false, "10.1.2.3:443": true, "127.0.0.1:5000": true, "[2001:db8::1]:443": true,
	} {
		if err := refuseLink("tcp", address, nil); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://169.254.169.254/latest/meta-data/", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := newTransport().RoundTrip(r)
	if err == nil {
		answer.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "this host's own link") {
		t.Errorf("it was asked: %v", err)
	}
}
