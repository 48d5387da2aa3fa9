package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	hostpolicy "github.com/gitvirt/gitvirt/reconcile/policy"
)

func readPolicy(t testing.TB, text string) (hostpolicy.Policy, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := read(file)
	if err != nil {
		return hostpolicy.Policy{}, err
	}
	return s.Policy.policy()
}

func TestPolicyIsReadFromTheFile(t *testing.T) {
	got, err := readPolicy(t, `
policy:
  hostPaths: [/var/lib/libvirt/images]
  networks: ["*"]
  userNetwork: false
  bridges: [br0]
  pools: [default, "default/*.iso"]
  images: [/srv/images, registry.example.org/team]
  probes: []
  storage: [san.example.org, "*.nas.example.org:2049"]
  hostDevices: ["0000:03:00.0", "1d6b:0002", /dev/disk/by-id/a]
  limits: {vm: {cpus: 16, memory: 64Gi, disk: 1Ti}, host: {memory: 256Gi}}
  domainXML: {allow: [devices/emulator, "devices/tpm/backend@type=passthrough"]}
`)
	want := hostpolicy.Policy{
		HostPaths: []string{"/var/lib/libvirt/images"}, Networks: []string{"*"}, NoUserNetwork: true, Bridges: []string{"br0"},
		Pools: []string{"default", "default/*.iso"}, Images: []string{"/srv/images", "registry.example.org/team"}, Probes: []string{},
		Storage:     []string{"san.example.org", "*.nas.example.org:2049"},
		HostDevices: []string{"0000:03:00.0", "1d6b:0002", "/dev/disk/by-id/a"},
		VM:          hostpolicy.Limits{CPUs: 16, Memory: 64 << 30, Disk: 1 << 40}, Host: hostpolicy.Limits{Memory: 256 << 30},
		Elements: []string{"devices/emulator", "devices/tpm/backend@type=passthrough"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	for _, text := range []string{"", "policy:\n", "policy: {}\n", "policy: {bridges: []}\n"} {
		got, err := readPolicy(t, text)
		if got.Bridges = nil; err != nil || !reflect.DeepEqual(got, hostpolicy.Default()) {
			t.Errorf("%q gives %+v, %v", text, got, err)
		}
	}
	if got, err := readPolicy(t, "policy: {networks: []}\n"); err != nil || len(got.Networks) != 0 {
		t.Errorf("an empty list allows %v, %v", got.Networks, err)
	}
}

func TestBadPolicyIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"policy: {hostpaths: [/a]}":                      "field hostpaths is not known in policy",
		"policy: {limits: {vms: {}}}":                    "field vms is not known in limits",
		"policy: {hostPaths: [images]}":                  `policy.hostPaths: "images" is no folder's path`,
		"policy: {hostPaths: [/a/../b]}":                 `policy.hostPaths: "/a/../b" is no folder's path`,
		`policy: {hostPaths: ["/a/*"]}`:                  `policy.hostPaths: "/a/*" is no folder's path`,
		`policy: {hostPaths: [""]}`:                      `policy.hostPaths: "" is no folder's path`,
		`policy: {networks: ["[a"]}`:                     `policy.networks: "[a" is no pattern`,
		`policy: {bridges: [""]}`:                        `policy.bridges: "" is no pattern`,
		"policy: {pools: [/srv]}":                        `policy.pools: "/srv" is a path`,
		"policy: {images: [/srv/..]}":                    `policy.images: "/srv/.." is a path`,
		"policy: {hostDevices: [/dev/../etc]}":           `policy.hostDevices: "/dev/../etc" is no device`,
		"policy: {limits: {vm: {memory: lots}}}":         `policy.limits.vm.memory: "lots" is no amount`,
		"policy: {limits: {vm: {memory: -1Gi}}}":         `policy.limits.vm.memory: "-1Gi" is no amount`,
		"policy: {limits: {host: {disk: 0}}}":            `policy.limits.host.disk: "0" is no amount`,
		"policy: {limits: {vm: {cpus: 0}}}":              "policy.limits.vm.cpus: 0: say 1 or more",
		"policy: {limits: {vm: {cpus: many}}}":           "cannot unmarshal",
		"policy: {domainXML: {allow: [/devices]}}":       `policy.domainXML.allow: "/devices" is no element's path`,
		"policy: {domainXML: {allow: [<emulator>]}}":     `policy.domainXML.allow: "<emulator>" is no element's path`,
		"policy: {domainXML: {allow: [domain/devices]}}": `policy.domainXML.allow: "domain/devices" is no element's path`,
	} {
		if _, err := readPolicy(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", text, err, want)
		}
	}
}

// FuzzPolicy wants no panic, and nothing allowed that is not absolute, positive and of a form that can match.
func FuzzPolicy(f *testing.F) {
	f.Add("policy: {hostPaths: [/a], limits: {vm: {cpus: 1, memory: 1Gi}}, domainXML: {allow: ['*']}}")
	f.Add("policy: {networks: ['[a'], pools: [/x]}")
	f.Add("policy: {limits: {host: {memory: 99999999999999999999Ei}}}")
	f.Fuzz(func(t *testing.T, text string) {
		var s settings
		if yaml.Unmarshal([]byte(text), &s) != nil {
			return
		}
		p, err := s.Policy.policy()
		if err != nil {
			return
		}
		for _, path := range p.HostPaths {
			if !strings.HasPrefix(path, "/") || strings.Contains(path, "/../") {
				t.Errorf("%q is allowed as a host path", path)
			}
		}
		for _, l := range []hostpolicy.Limits{p.VM, p.Host} {
			if l.CPUs < 0 || l.Memory < 0 || l.Disk < 0 {
				t.Errorf("negative limits: %+v", l)
			}
		}
	})
}
