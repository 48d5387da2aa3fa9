package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/runner/sandbox"
)

// TestNetworks starts a network whose bridge and whose DHCP server are the sandbox's alone.
func TestNetworks(t *testing.T) {
	s, err := sandbox.Start(t.Context(), sandbox.Options{Networks: true, DefaultPool: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if log, err := s.Log(); t.Failed() && err == nil {
			t.Log(log)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	file := filepath.Join(s.Dir(), "net.xml")
	xml := "<network><name>lan</name><forward mode='nat'/><bridge name='virbr-gv'/><ip address='192.0.2.1' prefix='24'>" +
		"<dhcp><range start='192.0.2.100' end='192.0.2.199'/></dhcp></ip></network>"
	if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"net-define", "--validate", file}, {"net-start", "lan"}, {"pool-info", "default"}} {
		if out, err := s.Virsh(t.Context(), args...); err != nil {
			t.Fatal(out, err)
		}
	}
	links, err := s.Inside(t.Context(), "ip", "-4", "-brief", "address")
	if err != nil || !strings.Contains(links, "192.0.2.1/24") {
		t.Errorf("in the sandbox: %s, %v", links, err)
	}
	if _, err := os.Stat("/sys/class/net/virbr-gv"); err == nil {
		t.Error("the bridge is on the host")
	}
	if sockets, err := s.Inside(t.Context(), "cat", "/proc/net/udp"); err != nil || !strings.Contains(sockets, ":0043 ") {
		t.Errorf("nobody listens on the DHCP port: %s, %v", sockets, err)
	}
	if _, err := os.Stat("/var/lib/libvirt/dnsmasq/lan.conf"); err == nil {
		t.Error("the network's files are among the system's")
	}
	if err := s.RestartDaemon(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Virsh(t.Context(), "net-list", "--name"); err != nil || strings.TrimSpace(out) != "lan" {
		t.Errorf("after a restart of the daemon: %q, %v", out, err)
	}
}
