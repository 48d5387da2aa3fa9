package test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
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

// TestAnISCSIServerGoesAway is TestAServerGoesAway with an iSCSI target.
func TestAnISCSIServerGoesAway(t *testing.T) {
	const iqn = "iqn.2026-01.io.gitvirt:away"
	image := bootable(t, filepath.Join(t.TempDir(), "disk.img"))
	g := newGate(t, "127.0.0.1:"+startTarget(t, iqn, image))
	goesAway(t, away{
		volume: fmt.Sprintf("network: {protocol: iscsi, hosts: [{name: 127.0.0.1, port: %s}], name: %q}", g.port, iqn+"/2"),
		image:  image, says: "Failed to connect", start: g.open, stop: g.shut,
	})
}
