package main

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	hostpolicy "github.com/gitvirt/gitvirt/reconcile/policy"
)

// TestSnippet: what is printed of the policy is what the agent's file can have, lists in full, and nothing when nothing is new.
func TestSnippet(t *testing.T) {
	now := hostpolicy.Default()
	if text := snippet(now, now); text != nil {
		t.Errorf("nothing is new, and it says\n%s", text)
	}
	now.Bridges, now.NoUserNetwork = []string{"br1"}, true
	next := now
	next.NoUserNetwork = false
	next.HostPaths, next.Bridges, next.HostDevices = []string{"/srv/b", "/srv/a"}, []string{"br1", "br0"}, []string{"0000:65:00.1", "1d6b:0002"}
	next.Pools, next.Storage, next.Elements = []string{"*", "p/v"}, []string{"nas.example.org:2049"}, []string{"devices/emulator"}
	text := snippet(now, next)
	var file settings
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	got, err := file.Policy.policy()
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if strings.Join(got.HostPaths, " ") != "/srv/a /srv/b" || strings.Join(got.Bridges, " ") != "br0 br1" || strings.Join(got.Pools, " ") != "* p/v" ||
		strings.Join(got.HostDevices, " ") != "0000:65:00.1 1d6b:0002" || got.NoUserNetwork || strings.Join(got.Elements, "") != "devices/emulator" ||
		strings.Join(got.Storage, "") != "nas.example.org:2049" {
		t.Errorf("it reads as %+v:\n%s", got, text)
	}
	if strings.Contains(string(text), "networks:") {
		t.Errorf("it says what is allowed already:\n%s", text)
	}
}
