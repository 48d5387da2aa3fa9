package proxy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

const (
	timeout = 10 * time.Second
	// held is how long a call that should hang is watched. It is no measure of speed.
	held = 300 * time.Millisecond
)

// TestProceduresAreComplete compares the table with the constants that go-libvirt has generated from libvirt's
// protocol files.
func TestProceduresAreComplete(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/digitalocean/go-libvirt").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[procedureID]string{}
	for _, f := range []struct {
		file, prefix string
		program      uint32
	}{
		{"remote_protocol.gen.go", "Proc", remoteProgram},
		{"qemu_protocol.gen.go", "QEMUProc", qemuProgram},
	} {
		path := filepath.Join(strings.TrimSpace(string(out)), "internal", "constants", f.file)
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, f.prefix) {
				return true
			}
			var number uint32
			if _, err := fmt.Sscan(spec.Values[0].(*ast.BasicLit).Value, &number); err != nil {
				t.Fatal(err)
			}
			want[procedureID{f.program, number}] = strings.TrimPrefix(spec.Names[0].Name, f.prefix)
			return true
		})
	}
	if len(want) < 400 {
		t.Fatalf("found %d constants only", len(want))
	}
	got, err := parseProcedures(procedureTable)
	if err != nil {
		t.Fatal(err)
	}
	for id, name := range want {
		if got[id].name != name {
			t.Errorf("procedure %v is %q in the table and %q in go-libvirt", id, got[id].name, name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the table has %d procedures and go-libvirt %d", len(got), len(want))
	}
}

func TestKinds(t *testing.T) {
	table, err := parseProcedures(procedureTable)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Kind{
		"DomainDefineXMLFlags": Write, "DomainCreateWithFlags": Write, "DomainUndefineFlags": Write,
		"DomainDestroyFlags": Write, "DomainShutdownFlags": Write, "DomainSuspend": Write, "DomainResume": Write,
		"DomainAttachDeviceFlags": Write, "DomainDetachDeviceAlias": Write, "DomainUpdateDeviceFlags": Write,
		"DomainSetAutostart": Write, "DomainSetMetadata": Write, "DomainSetPerfEvents": Write,
		"StorageVolCreateXML": Write, "StorageVolDelete": Write, "StorageVolUpload": Write, "StoragePoolBuild": Write,
		"NetworkCreate": Write, "DomainMonitorCommand": Write,
		"StoragePoolRefresh":    Refresh,
		"ConnectListAllDomains": Read, "DomainGetXMLDesc": Read, "DomainGetMetadata": Read, "DomainGetPerfEvents": Read,
		"StorageVolDownload": Read, "ConnectGetAllDomainStats": Read, "DomainGetState": Read,
		"ConnectOpen": Session, "AuthList": Session, "ConnectDomainEventCallbackRegisterAny": Session,
		"DomainEventCallbackLifecycle": Event,
	} {
		found := false
		for _, p := range table {
			if p.name == name {
				found = true
				if p.kind != want {
					t.Errorf("%s is of kind %s, want %s", name, p.kind, want)
				}
			}
		}
		if !found {
			t.Errorf("there is no procedure %s", name)
		}
	}
	if p := describe(table, procedureID{remoteProgram, 99999}); p.kind != Write {
		t.Errorf("an unknown procedure is a %s", p.kind)
	}
}

func TestCalls(t *testing.T) {
	p, target := start(t)
	c := connect(t, p.Socket())
	p.Reset()
	dom := define(t, c, "counted")
	if _, err := c.DomainGetXMLDesc(dom, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DomainLookupByName("nobody"); err == nil {
		t.Fatal("found a domain that is not there")
	}
	if err := c.DomainSetAutostart(dom, 1); err != nil {
		t.Fatal(err)
	}
	want := []string{"DomainDefineXML", "DomainGetXMLDesc", "DomainLookupByName", "DomainSetAutostart"}
	if got := Names(p.Calls()); !slices.Equal(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
	if got := Names(p.Writes()); !slices.Equal(got, []string{want[0], want[3]}) {
		t.Errorf("writes %v", got)
	}
	if got := p.Counts()["DomainGetXMLDesc"]; got != 1 {
		t.Errorf("DomainGetXMLDesc was counted %d times", got)
	}
	for _, call := range p.Calls() {
		if !call.Answered || call.Failed != (call.Procedure == "DomainLookupByName") {
			t.Errorf("wrong outcome: %+v", call)
		}
	}
	connect(t, p.Socket())
	if got := p.Connections(); got != 2 {
		t.Errorf("%d connections, want 2", got)
	}
	if _, err := connect(t, target).DomainLookupByName("counted"); err != nil {
		t.Errorf("the call did not reach libvirtd: %v", err)
	}
}

// TestFaults strikes a define, and looks from beside the proxy whether libvirtd has it.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		name    string
		fault   Fault
		defined bool
		client  string // what the client gets: ok, an error, or nothing
		other   bool   // whether the client's other connection lives on
	}{
		{"passed", Fault{}, true, "ok", true},
		{"cut before", Fault{Action: Always(Cut)}, false, "error", true},
		{"cut after", Fault{When: After, Action: Always(Cut)}, true, "error", true},
		{"all cut before", Fault{Action: Always(CutAll)}, false, "error", false},
		{"all cut after", Fault{When: After, Action: Always(CutAll)}, true, "error", false},
		{"call lost", Fault{Action: Always(Drop)}, false, "nothing", true},
		{"reply lost", Fault{When: After, Action: Always(Drop)}, true, "nothing", true},
		{"call held", Fault{Delay: time.Hour}, false, "nothing", true},
		{"reply held", Fault{When: After, Delay: time.Hour}, true, "nothing", true},
		{"held a little", Fault{Delay: time.Millisecond}, true, "ok", true},
		{"other procedure", Fault{Match: Procedure("DomainDestroy"), Action: Always(Cut)}, true, "ok", true},
		{"other domain", Fault{Match: Naming("someone", Writes), Action: Always(Cut)}, true, "ok", true},
		{"this domain", Fault{Match: Naming("struck", Writes), Action: Always(Cut)}, false, "error", true},
		{"second write", Fault{Nth: 2, Action: Always(Cut)}, true, "ok", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, target := start(t)
			c, other := connect(t, p.Socket()), connect(t, p.Socket())
			injected := p.Inject(test.fault)
			result := make(chan error, 1)
			go func() {
				_, err := c.DomainDefineXML(domainXML("struck"))
				result <- err
			}()
			got := "nothing"
			select {
			case err := <-result:
				got = "ok"
				if err != nil {
					got = "error"
				}
			case <-time.After(map[bool]time.Duration{true: held, false: timeout}[test.client == "nothing"]):
			}
			if got != test.client {
				t.Errorf("the client got %s, want %s", got, test.client)
			}
			if _, err := connect(t, target).DomainLookupByName("struck"); (err == nil) != test.defined {
				t.Errorf("defined: %v, want %v (%v)", err == nil, test.defined, err)
			}
			if _, err := other.ConnectGetLibVersion(); (err == nil) != test.other {
				t.Errorf("the other connection: %v", err)
			}
			if test.client == "nothing" {
				if _, err := c.ConnectGetLibVersion(); err != nil {
					t.Errorf("another call on the same connection: %v", err)
				}
			}
			select {
			case <-injected.Fired():
				if injected.Call().Procedure != "DomainDefineXML" {
					t.Errorf("it struck %v", injected.Call())
				}
			default:
				if test.client != "ok" {
					t.Error("the fault did not strike")
				}
			}
			if _, err := connect(t, p.Socket()).ConnectGetLibVersion(); err != nil {
				t.Errorf("a new connection: %v", err)
			}
		})
	}
}

func TestRepeatedFaultAndRemoval(t *testing.T) {
	p, _ := start(t)
	var struck atomic.Int32 // each connection has a goroutine of its own
	injected := p.Inject(Fault{Nth: 2, Repeat: true, Action: func(Call) Verdict { struck.Add(1); return Cut }})
	for i, wantError := range []bool{false, true, true} {
		_, err := connect(t, p.Socket()).DomainDefineXML(domainXML(fmt.Sprintf("d%d", i)))
		if (err != nil) != wantError {
			t.Errorf("define %d: %v", i, err)
		}
	}
	injected.Remove()
	define(t, connect(t, p.Socket()), "last")
	if n := struck.Load(); n != 2 {
		t.Errorf("it struck %d times, want 2", n)
	}
}

func TestDeadTargetAndClose(t *testing.T) {
	p, err := Start("/nowhere/libvirt-sock")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a connection to a dead libvirtd stays open")
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := net.Dial("unix", p.Socket()); err == nil {
		t.Error("a closed proxy accepts connections")
	}
}

// start starts a libvirtd and a proxy to it, and returns the libvirtd's own socket as well.
func start(t *testing.T) (*Proxy, string) {
	t.Helper()
	target := sandboxtest.Start(t).Socket()
	p, err := Start(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, target
}

type unixDialer string

func (d unixDialer) Dial() (net.Conn, error) { return net.Dial("unix", string(d)) }

func connect(t *testing.T, socket string) *libvirt.Libvirt {
	t.Helper()
	c := libvirt.NewWithDialer(unixDialer(socket))
	if err := c.ConnectToURI(libvirt.QEMUSession); err != nil {
		t.Fatal(err)
	}
	return c
}

func domainXML(name string) string {
	return fmt.Sprintf(`<domain type='qemu'><name>%s</name><memory unit='MiB'>16</memory>
		<os><type arch='x86_64' machine='q35'>hvm</type></os></domain>`, name)
}

func define(t *testing.T, c *libvirt.Libvirt, name string) libvirt.Domain {
	t.Helper()
	dom, err := c.DomainDefineXML(domainXML(name))
	if err != nil {
		t.Fatal(err)
	}
	return dom
}
