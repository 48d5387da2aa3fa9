package status

import (
	"net"
	"sync"
)

// How many connections a listener takes: from one address, and from all. Prometheus and people need a handful.
const (
	perAddress = 64
	fromAll    = 1024
)

// NoCrowd returns a listener that closes at once what comes from an address that has many connections already, and what
// comes when there are very many in all. Whoever floods one address keeps others, and the open files, free.
func NoCrowd(l net.Listener) net.Listener {
	return &doorkeeper{Listener: l, open: map[string]int{}}
}

type doorkeeper struct {
	net.Listener

	mu   sync.Mutex
	open map[string]int // by address
	all  int
}

func (d *doorkeeper) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(c.RemoteAddr().String())
		if err != nil {
			host = "" // a socket without addresses: all are one
		}
		if d.enter(host) {
			return &guest{Conn: c, leave: sync.OnceFunc(func() { d.leave(host) })}, nil
		}
		_ = c.Close() // nothing was said yet
	}
}

func (d *doorkeeper) enter(host string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[host] >= perAddress || d.all >= fromAll {
		return false
	}
	d.open[host]++
	d.all++
	return true
}

func (d *doorkeeper) leave(host string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all--
	if d.open[host]--; d.open[host] == 0 {
		delete(d.open, host)
	}
}

// guest is a connection that counts until it is closed.
type guest struct {
	net.Conn
	leave func()
}

func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}
