package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func environment(key string) string {
	return map[string]string{"HOME": "/home/ann", "XDG_RUNTIME_DIR": "/run/user/1000"}[key]
}

func TestParseURI(t *testing.T) {
	for _, test := range []struct {
		uri  string
		want endpoint
	}{
		{"qemu:///system", endpoint{"/var/run/libvirt/libvirt-sock", "qemu:///system", "/etc/libvirt/qemu", "/run/libvirt/qemu"}},
		{"qemu+unix:///system", endpoint{"/var/run/libvirt/libvirt-sock", "qemu:///system", "/etc/libvirt/qemu", "/run/libvirt/qemu"}},
		{"qemu:///session", endpoint{"/run/user/1000/libvirt/libvirt-sock", "qemu:///session",
			"/home/ann/.config/libvirt/qemu", "/run/user/1000/libvirt/qemu/run"}},
		{"qemu+unix:///session?socket=/tmp/s/sock", endpoint{socket: "/tmp/s/sock", driver: "qemu:///session"}},
		{"qemu:///system?mode=legacy", endpoint{"/var/run/libvirt/libvirt-sock", "qemu:///system", "/etc/libvirt/qemu", "/run/libvirt/qemu"}},
		{"qemu+unix:///system?socket=/s&name=qemu%3A%2F%2F%2Fsession", endpoint{socket: "/s", driver: "qemu:///session"}},
		{"test:///default", endpoint{socket: "/var/run/libvirt/libvirt-sock", driver: "test:///default"}},
	} {
		got, err := parseURI(test.uri, environment)
		if err != nil {
			t.Errorf("%s: %v", test.uri, err)
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(endpoint{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.uri, diff)
		}
	}
	for uri, want := range map[string]string{
		"":                               "say qemu:///system",
		"qemu+ssh://kvm1/system":         `the transport "ssh" leads to another host`,
		"qemu+tls://kvm1/system":         `the transport "tls"`,
		"qemu://kvm1/system":             `it names the host "kvm1"`,
		"qemu://ann@/system":             "an agent works on its own",
		"qemu":                           "not of the form",
		"qemu:system":                    "not of the form",
		"/var/run/libvirt":               "not of the form",
		"qemu:///session?socket=rel":     "no absolute path",
		"qemu:///system?sockett=/a":      `the parameter "sockett" is not known`,
		"qemu:///system\x7f":             "invalid control character",
		"qemu:///session?no_verify=1":    `the parameter "no_verify"`,
		"qemu+libssh2://h/system?port=2": `the transport "libssh2"`,
	} {
		if e, err := parseURI(uri, environment); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v with the error %v; it should have %q", uri, e, err, want)
		}
	}
	if _, err := parseURI("qemu:///session", func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("a session without an environment: %v", err)
	}
}

// FuzzParseURI checks that whatever reads as a URI leads to a socket of this host, and to a driver.
func FuzzParseURI(f *testing.F) {
	f.Add("qemu:///system")
	f.Add("qemu+unix:///session?socket=/tmp/s")
	f.Add("qemu+ssh://host/system")
	f.Add("test:///default?name=x")
	f.Fuzz(func(t *testing.T, uri string) {
		e, err := parseURI(uri, environment)
		if err != nil || strings.Contains(uri, "name=") { // which may be anything
			return
		}
		if driver, _, ok := strings.Cut(string(e.driver), ":///"); !ok || strings.Contains(driver, "+") || !strings.HasPrefix(e.socket, "/") {
			t.Errorf("%q reads as %+v", uri, e)
		}
	})
}
