package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Proxy listens on a UNIX socket and passes libvirt's packets on to another. It may be used from several goroutines.
type Proxy struct {
	dir        string
	target     string
	listener   net.Listener
	procedures map[procedureID]procedure
	record     record
	done       chan struct{}
	work       sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	opened   int // connections so far
	links    map[*link]struct{}
	injected []*Injected
}

// Start listens on a new socket, for clients of the libvirtd whose socket is the target. Each connection dials the
// target anew, so the libvirtd may be restarted.
func Start(target string) (*Proxy, error) {
	procedures, err := parseProcedures(procedureTable)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gvp")
	if err != nil {
		return nil, fmt.Errorf("cannot make the proxy's directory: %w", err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "libvirt-sock"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot listen as a proxy: %w", err), os.RemoveAll(dir))
	}
	p := &Proxy{
		dir: dir, target: target, listener: listener, procedures: procedures,
		done: make(chan struct{}), links: map[*link]struct{}{},
	}
	p.work.Go(p.accept)
	return p, nil
}

// Socket returns the socket that clients connect to.
func (p *Proxy) Socket() string { return filepath.Join(p.dir, "libvirt-sock") }

// URI returns the libvirt URI of a session daemon behind the proxy.
func (p *Proxy) URI() string { return "qemu+unix:///session?socket=" + p.Socket() }

// Inject makes something happen to calls from now on. Of several faults that fit a call, the first injected has it.
func (p *Proxy) Inject(fault Fault) *Injected {
	i := &Injected{fault: fault, fired: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.injected = append(p.injected, i)
	return i
}

// CutAll closes all connections. New ones are welcome.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Close ends the proxy and all connections through it.
func (p *Proxy) Close() error {
	p.mu.Lock()
	already := p.closed
	p.closed = true
	p.mu.Unlock()
	if already {
		return nil
	}
	close(p.done)
	err := p.listener.Close()
	p.CutAll()
	p.work.Wait()
	return errors.Join(err, os.RemoveAll(p.dir))
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.work.Go(func() { p.serve(client) })
	}
}

// serve runs one connection to its end.
func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("unix", p.target)
	if err != nil {
		client.Close() // what the client sees of a dead libvirtd
		return
	}
	l := &link{client: client, server: server, pending: map[uint32]*Call{}}
	defer l.cut()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.opened++
	l.number = p.opened
	p.links[l] = struct{}{}
	p.mu.Unlock()

	var replies sync.WaitGroup
	replies.Go(func() {
		defer l.cut()
		p.pump(server, &l.toClient, client, l, After)
	})
	p.pump(client, &l.toServer, server, l, Before)
	l.cut()
	replies.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// pump passes the packets of one direction on until a connection ends or is cut.
func (p *Proxy) pump(from io.Reader, lock *sync.Mutex, to io.Writer, l *link, when Moment) {
	for {
		packet, err := readPacket(from)
		if err != nil {
			return
		}
		send := func() error {
			lock.Lock()
			defer lock.Unlock()
			_, err := to.Write(packet)
			return err
		}
		verdict, delay := p.judge(packet, l, when)
		switch verdict {
		case Drop:
			continue
		case Cut:
			return
		case CutAll:
			p.CutAll()
			return
		}
		if delay > 0 {
			p.work.Go(func() { p.later(delay, send) })
			continue
		}
		if send() != nil {
			return
		}
	}
}

// later sends a held packet, unless the proxy ends before. A connection that has ended meanwhile is no error.
func (p *Proxy) later(delay time.Duration, send func() error) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		_ = send()
	case <-p.done:
	}
}

// judge records a call or its reply, and finds the fault that strikes it.
func (p *Proxy) judge(pkt packet, l *link, when Moment) (Verdict, time.Duration) {
	var call Call
	switch {
	case when == Before && pkt.isCall():
		what := describe(p.procedures, pkt.procedure())
		call = Call{Connection: l.number, Procedure: what.name, Kind: what.kind, Payload: pkt.payload()}
		l.expect(pkt.serial(), p.record.add(call))
	case when == After && pkt.isReply():
		asked := l.take(pkt.serial())
		if asked == nil {
			return Pass, 0
		}
		call = p.record.answer(asked, pkt.failed())
	default:
		return Pass, 0
	}
	for _, i := range p.faults(when) {
		if !i.strikes(call) {
			continue
		}
		verdict := Pass
		if i.fault.Action != nil {
			verdict = i.fault.Action(call)
		}
		return verdict, i.fault.Delay
	}
	return Pass, 0
}

func (p *Proxy) faults(when Moment) []*Injected {
	p.mu.Lock()
	defer p.mu.Unlock()
	var faults []*Injected
	for _, i := range p.injected {
		if i.fault.When == when {
			faults = append(faults, i)
		}
	}
	return faults
}
