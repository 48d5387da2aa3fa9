package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
)

// Guests is what libvirt knows of guests, by the UUIDs of their domains.
type Guests interface {
	// Ping asks the guest agent to answer. The error is nil when it did.
	Ping(ctx context.Context, uuid string, timeout time.Duration) error
	// Exec has the guest agent run a command, and returns nil when it exited with 0 in time.
	Exec(ctx context.Context, uuid string, command []string, timeout time.Duration) error
	// HostAddresses are those at which the guest can be reached, as far as the host knows them without asking it.
	HostAddresses(ctx context.Context, uuid string, macs []string) ([]plan.Address, error)
	// AgentAddresses are those that the guest's agent says.
	AgentAddresses(ctx context.Context, uuid string) ([]plan.Address, error)
}

// ask asks a guest once. The message says how it is known that it is up, the error why it is not. Once says that it is asked
// one time only.
func (p *Prober) ask(ctx context.Context, g *guest, once bool) (string, error) {
	if err := p.turns.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer p.turns.Release(1)
	q := g.probe
	switch q.Check {
	case render.CheckAgent:
		if err := p.guests.Ping(ctx, q.UUID, q.Timeout); err != nil {
			return "", fmt.Errorf("its guest agent does not answer: %w", err)
		}
		return "its guest agent answers", nil
	case render.CheckExec:
		if err := p.guests.Exec(ctx, q.UUID, q.Command, q.Timeout); err != nil {
			return "", fmt.Errorf("%s in the guest: %w", q.Command[0], err)
		}
		return q.Command[0] + " in the guest exited with 0", nil
	case render.CheckTCP, render.CheckHTTP:
		return p.reach(ctx, g)
	}
	return p.settle(ctx, g, once)
}

// settle is for a guest of which nothing is declared: its agent, if it has one, says that it is up. One that never had an
// agent is up when it has run for a while. One whose channel is not open is not asked: libvirtd logs each such question as
// an error.
func (p *Prober) settle(ctx context.Context, g *guest, once bool) (string, error) {
	err := errors.New("its channel is not open")
	if p.isOpen(g) {
		err = p.guests.Ping(ctx, g.probe.UUID, g.probe.Timeout)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.heard[g.probe.Name] = true
		return "its guest agent answers", nil
	}
	switch ran := time.Since(g.known.Since); {
	case p.heard[g.probe.Name]:
		return "", fmt.Errorf("its guest agent does not answer, and did before: %w", err)
	case once:
		return "it runs", nil
	case ran < render.SettledAfter:
		return "", fmt.Errorf("it has run for less than %v, and no guest agent answers: %w", render.SettledAfter, err)
	}
	return fmt.Sprintf("it has run for %v", render.SettledAfter), nil
}

// reach opens a connection to the guest, at the first of its addresses that takes one.
func (p *Prober) reach(ctx context.Context, g *guest) (string, error) {
	q := g.probe
	hosts := []string{q.Host}
	if q.Host == "" {
		var err error
		if hosts, err = p.addresses(ctx, g); err != nil {
			return "", err
		}
	}
	var failures []string
	for _, host := range hosts {
		at := net.JoinHostPort(host, strconv.Itoa(q.Port))
		message, err := knock(ctx, q, at)
		if err == nil {
			return message, nil
		}
		failures = append(failures, fmt.Sprintf("%s: %v", at, err))
	}
	return "", fmt.Errorf("%s probe of %s", q.Check, strings.Join(failures, "; "))
}

func (p *Prober) addresses(ctx context.Context, g *guest) ([]string, error) {
	var hosts []string
	for _, a := range g.probe.Addresses {
		hosts = append(hosts, a.String())
	}
	if len(hosts) > 0 {
		return hosts, nil
	}
	known, err := p.guests.HostAddresses(ctx, g.probe.UUID, g.probe.MACs)
	if len(known) == 0 && p.isOpen(g) {
		known, err = p.guests.AgentAddresses(ctx, g.probe.UUID)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find its address: %w", err)
	}
	for _, a := range known {
		hosts = append(hosts, a.IP.String())
	}
	if len(hosts) == 0 {
		return nil, errors.New("its address is not known: say host in the probe, or addresses in the interface, or run the guest agent in it")
	}
	return hosts, nil
}

// isOpen says whether the guest has opened its agent's channel.
func (p *Prober) isOpen(g *guest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return g.open
}

// knock tries one address, and gives it the probe's time.
func knock(ctx context.Context, q plan.Probe, at string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, q.Timeout, fmt.Errorf("no answer within %v", q.Timeout))
	defer cancel()
	message, err := try(ctx, q, at)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return message, err
}

func try(ctx context.Context, q plan.Probe, at string) (string, error) {
	if q.Check == render.CheckTCP {
		c, err := dialer(q.Host).DialContext(ctx, "tcp", at)
		if err != nil {
			return "", bare(err)
		}
		return "TCP " + at + " is open", c.Close()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, q.Scheme+"://"+at+q.Path, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("User-Agent", "gitvirt")
	for _, h := range q.Headers {
		if strings.EqualFold(h[0], "Host") {
			r.Host = h[1]
		}
		r.Header.Set(h[0], h[1])
	}
	// A guest's certificate is its own affair, as with Kubernetes' probes; and a proxy would answer for itself.
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: dialer(q.Host).DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", bare(err)
	}
	if err := answer.Body.Close(); err != nil {
		return "", err
	}
	if answer.StatusCode < 200 || answer.StatusCode >= 400 {
		return "", fmt.Errorf("it answers %s", answer.Status)
	}
	return fmt.Sprintf("HTTP %s answers %s", at, answer.Status), nil
}

// dialer connects to a guest. Addresses of the host's own are for the policy to judge where they are written in a document; a
// name must not lead there.
func dialer(host string) *net.Dialer {
	if _, err := netip.ParseAddr(host); err == nil || host == "" || host == "localhost" {
		return &net.Dialer{}
	}
	return &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if ip := at.Addr().Unmap(); ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast() {
			return fmt.Errorf("%s is an address of this host's own, which only an address in the probe can name", ip)
		}
		return nil
	}}
}

// bare is an error without the address, which is said already.
func bare(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
