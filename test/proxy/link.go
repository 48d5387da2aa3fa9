package proxy

import (
	"net"
	"sync"
)

// link is a client's connection with the one to libvirtd that belongs to it.
type link struct {
	number             int
	client, server     net.Conn
	toClient, toServer sync.Mutex // held while a packet is written, so that held ones do not get between

	mu      sync.Mutex
	pending map[uint32]*Call // by serial
}

// cut closes both ends. It may be called more than once.
func (l *link) cut() {
	l.client.Close()
	l.server.Close()
}

func (l *link) expect(serial uint32, call *Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[serial] = call
}

// take returns the call that a reply answers, once. Later packets with that serial belong to its stream.
func (l *link) take(serial uint32) *Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	call := l.pending[serial]
	delete(l.pending, serial)
	return call
}
