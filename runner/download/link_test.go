package download

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// TestNoServerIsOnTheHostsOwnLink, whatever its name was.
func TestNoServerIsOnTheHostsOwnLink(t *testing.T) {
	for address, want := range map[string]bool{
		"169.254.169.254:80": false, "[fe80::1%eth0]:443": false, "[::ffff:169.254.169.254]:80": false, "[fd00:ec2::254]:80": false,
		"224.0.0.1:443": false, "nonsense": false, "10.1.2.3:443": true, "127.0.0.1:5000": true, "[2001:db8::1]:443": true,
	} {
		if err := refuse(t.Context(), address); (err == nil) != want {
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

// TestRedirectsArePublic: what a redirect leads to is on no network of the host's own, whatever its name was.
func TestRedirectsArePublic(t *testing.T) {
	ctx := context.WithValue(t.Context(), publicOnly{}, "files.example")
	for address, want := range map[string]bool{
		"127.0.0.1:80": false, "[::1]:80": false, "10.1.2.3:443": false, "192.168.1.1:443": false, "[fd00::1]:443": false, "0.0.0.0:80": false,
		"[::ffff:10.0.0.1]:80": false, "[2001:db8::1]:443": true, "192.0.2.1:443": true,
	} {
		if err := refuse(ctx, address); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}
