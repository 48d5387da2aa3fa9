package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
)

// conn is one connection to libvirt's daemon.
type conn struct {
	lv     *libvirt.Libvirt
	socket *watched

	// These are the pool's, under its lock.
	calls   int
	retired bool
}

// close ends the connection, and with it its calls, at once. go-libvirt's own Disconnect asks the daemon first, and
// would wait for one that is stuck.
func (c *conn) close() { _ = c.socket.Close() }

// gone is closed when the connection is no more, whoever ended it. go-libvirt's Disconnected would stay open when
// the daemon goes while the connection is being opened.
func (c *conn) gone() <-chan struct{} { return c.socket.gone }

func (c *conn) alive() bool {
	select {
	case <-c.gone():
		return false
	default:
		return true
	}
}

// watched is a socket that says when it has ended.
type watched struct {
	net.Conn
	once   sync.Once
	gone   chan struct{}
	opened chan struct{} // closed when go-libvirt has opened its connection, or has failed to
}

// openedTime is how long the end of a socket is kept from go-libvirt while it opens its connection. Once the daemon has
// answered, go-libvirt sets a field that its reader looks at when the socket ends: a daemon that died between the two would
// have both at it at once. One that has not answered is waited for in vain, and then the end has to be told.
const openedTime = 100 * time.Millisecond

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil {
		w.once.Do(func() { close(w.gone) })
		timer := time.NewTimer(openedTime)
		defer timer.Stop()
		select {
		case <-w.opened:
		case <-timer.C:
		}
	}
	return n, err
}

func (w *watched) Close() error {
	w.once.Do(func() { close(w.gone) })
	return w.Conn.Close()
}

// dialed gives go-libvirt a socket that is open already.
type dialed struct{ net.Conn }

func (d dialed) Dial() (net.Conn, error) { return d.Conn, nil }

// dial opens a connection. Nothing of go-libvirt takes a context; closing the socket is what ends its calls.
func (e endpoint) dial(ctx context.Context, limit time.Duration) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		classed{ErrStuck, fmt.Errorf("cannot connect to libvirt at %s: no answer within %v", e.socket, limit)})
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "unix", e.socket)
	if err != nil {
		return nil, e.unreachable(ctx, err)
	}
	socket := &watched{Conn: raw, gone: make(chan struct{}), opened: make(chan struct{})}
	c := &conn{lv: libvirt.NewWithDialer(dialed{socket}), socket: socket}
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	err = c.lv.ConnectToURI(e.driver)
	close(socket.opened)
	if err == nil && stop() {
		return c, nil
	}
	c.close()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, e.unreachable(ctx, err)
}

// unreachable says why there is no connection, and what to do.
func (e endpoint) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hint := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint = "; is libvirt's daemon installed and started?"
	case errors.Is(err, fs.ErrPermission):
		hint = "; may this user use it (the group is libvirt, usually)?"
	}
	return classed{ErrDisconnected, fmt.Errorf("cannot connect to libvirt (%s) at %s: %w%s", e.driver, e.socket, err, hint)}
}
