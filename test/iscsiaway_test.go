package test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
)

// gate stands before a server, and can be shut: then nobody is let in, and who is in is thrown out.
type gate struct {
	t            *testing.T
	port, server string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
	serving  sync.WaitGroup
}

// newGate is one that is shut.
func newGate(t *testing.T, server string) *gate {
	g := &gate{t: t, port: freePort(t), server: server}
	t.Cleanup(g.shut)
	return g
}

func (g *gate) open() {
	g.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:"+g.port)
	if err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	g.listener = l
	g.mu.Unlock()
	g.serving.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", g.server)
			if err != nil {
				in.Close()
				continue
			}
			g.mu.Lock()
			g.conns = append(g.conns, in, out)
			g.mu.Unlock()
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				g.serving.Go(func() {
					_, _ = io.Copy(way[1], way[0]) // either end may go at any time
					way[0].Close()
					way[1].Close()
				})
			}
		}
	})
}

func (g *gate) shut() {
	g.mu.Lock()
	if g.listener != nil {
		g.listener.Close()
	}
	for _, c := range g.conns {
		c.Close()
	}
	g.listener, g.conns = nil, nil
	g.mu.Unlock()
	g.serving.Wait()
}

// TestAnISCSIServerGoesAway: a machine whose iSCSI target cannot be reached says so, and starts once it can be; while it is away
// from one that runs, that one and the others go on, and a new run of it waits.
func TestAnISCSIServerGoesAway(t *testing.T) {
	h := newHost(t)
	const iqn = "iqn.2026-01.io.gitvirt:away"
	image := bootable(t, filepath.Join(t.TempDir(), "disk.img"))
	g := newGate(t, "127.0.0.1:"+startTarget(t, iqn, image))
	h.allow("storage: [127.0.0.1]")
	remote := remoteDoc("remote", fmt.Sprintf("network: {protocol: iscsi, hosts: [{name: 127.0.0.1, port: %s}], name: %q}", g.port, iqn+"/2"))
	local := machineDoc("local", "", "16Mi", "root")
	h.push("Both", remote, local, runDoc("remote", ""), runDoc("local", ""))
	h.agent()
	away := func(i status.Instance) bool {
		said := fmt.Sprint(i.Status.Conditions)
		return i.Status.Phase != plan.PhaseRunning && strings.Contains(said, "Failing") && strings.Contains(said, "Failed to connect")
	}
	h.instance("remote", "says that its server is away", away)
	h.instance("local", "runs beside it", phase(plan.PhaseRunning))
	g.open()
	h.instance("remote", "runs once its server is there", phase(plan.PhaseRunning))
	booted(t, image, "the target")

	before := h.instance("remote", "runs", phase(plan.PhaseRunning))
	g.shut()
	two := h.push("Nothing of theirs", remote, local, runDoc("remote", ""), runDoc("local", ""), "apiVersion: gitvirt.io/v1alpha1\nkind: Host\nmetadata: {name: kvm1}\n")
	h.settled(two)
	if after := h.instance("remote", "goes on", phase(plan.PhaseRunning)); before.Status.Domain.ID != after.Status.Domain.ID {
		t.Error("the machine was started again")
	}
	h.push("Another run", remote, local, runDoc("remote", "run: 2"), runDoc("local", ""))
	h.instance("remote", "does not start without its server", away)
	g.open()
	h.instance("remote", "runs again", func(i status.Instance) bool {
		return i.Status.Phase == plan.PhaseRunning && i.Metadata.Annotations["gitvirt.io/run"] == "2"
	})
}
