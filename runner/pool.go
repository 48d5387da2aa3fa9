package runner

import (
	"context"
	"errors"
	"sync"
)

var errClosed = errors.New("the runner has ended")

// pool holds connections for one purpose. A connection serves few calls at once, because libvirt's daemon works on
// no more than five of a client (max_client_requests) and leaves the rest unread: with fewer, calls that get no
// answer hold up none that would get one.
type pool struct {
	dial  func(context.Context) (*conn, error)
	share int // calls at once on one connection
	keep  int // idle connections that are kept

	mu     sync.Mutex
	conns  map[*conn]struct{}
	closed bool
}

func newPool(share, keep int, dial func(context.Context) (*conn, error)) *pool {
	return &pool{dial: dial, share: share, keep: keep, conns: map[*conn]struct{}{}}
}

// take returns a connection for one call, to be given back with put.
func (p *pool) take(ctx context.Context) (*conn, error) {
	if c, err := p.reuse(); c != nil || err != nil {
		return c, err
	}
	c, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.close()
		return nil, errClosed
	}
	c.calls = 1
	p.conns[c] = struct{}{}
	return c, nil
}

func (p *pool) reuse() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	for c := range p.conns {
		switch {
		case !c.alive():
			delete(p.conns, c)
		case !c.retired && c.calls < p.share:
			c.calls++
			return c, nil
		}
	}
	return nil, nil
}

// put gives a connection back after a call.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.calls--
	p.trim(c)
}

// retire takes a connection out of use: no new call gets it, and it is closed when its last call has ended. A call
// that missed its deadline is the reason. Its answer is still waited for, because only that says when the domain
// answers again; closing the connection would not free libvirt's worker.
func (p *pool) retire(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.retired = true
	p.trim(c)
}

// trim closes a connection that nobody uses and nobody will. The caller holds the lock.
func (p *pool) trim(c *conn) {
	if c.calls > 0 {
		return
	}
	idle := 0
	for other := range p.conns {
		if other.calls == 0 {
			idle++
		}
	}
	if c.retired || !c.alive() || idle > p.keep {
		delete(p.conns, c)
		c.close()
	}
}

// close closes all connections, and so ends their calls.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.conns {
		c.close()
	}
}
