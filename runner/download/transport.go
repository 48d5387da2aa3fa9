package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

// way is how servers are reached. It counts what comes, keeps to the bandwidth, and does not follow a redirect from TLS to
// none, or to an address that is not public unless that is named: who may say where a file is would otherwise have the host
// ask what only the host can reach.
type way struct {
	fetcher  *Fetcher
	progress *progress
}

// RoundTrip is http.RoundTripper's.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Response != nil { // of which this is the redirect
		from := r.Response.Request.URL
		if from.Scheme == "https" && r.URL.Scheme != "https" {
			return nil, fmt.Errorf("the redirect from %s to %s is not followed: it leads to %s without TLS", from.Host, r.URL.Host, r.URL.Scheme)
		}
		if from.Host != r.URL.Host && !w.fetcher.opts.Named(r.URL.Host+path.Clean("/"+r.URL.Path)) {
			if private(r.URL.Hostname()) {
				return nil, notPublic(r.URL.Host)
			}
			if proxy, err := http.ProxyFromEnvironment(r); proxy == nil && err == nil {
				r = r.WithContext(context.WithValue(r.Context(), publicOnly{}, r.URL.Host))
			}
		}
	}
	answer, err := w.fetcher.transport.RoundTrip(r)
	if err == nil {
		answer.Body = &counting{ReadCloser: answer.Body, ctx: r.Context(), progress: w.progress, pace: w.fetcher.pace}
	}
	return answer, err
}

// publicOnly is the key of a context under which only public addresses are connected to.
type publicOnly struct{}

func notPublic(host string) error {
	return fmt.Errorf("the redirect to %s is not followed: it is at an address that is not public, and policy.images of the agent's file does not name it", host)
}

// private says whether a host's name is an address that is not public, or the host itself.
func private(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && !public(ip)
}

func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsGlobalUnicast() && !ip.IsPrivate()
}

// newTransport goes to no address of the host's own link: what a name stands for there, a document cannot be judged by, and
// clouds tell a machine its secrets there.
func newTransport() http.RoundTripper {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 10, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second, DisableCompression: true,
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
			return refuse(ctx, address)
		}}
		return d.DialContext(ctx, network, address)
	}
	return t
}

// metadata is where a cloud's secrets are in IPv6, which is no link-local address.
var metadata = netip.MustParseAddr("fd00:ec2::254")

func refuse(ctx context.Context, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("cannot tell what %s is: %w", address, err)
	}
	ip := at.Addr().Unmap()
	if ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.WithZone("") == metadata {
		return fmt.Errorf("%s is not asked: it is an address of this host's own link", ip)
	}
	if host, ok := ctx.Value(publicOnly{}).(string); ok && !public(ip) {
		return notPublic(host)
	}
	return nil
}

// portion is how many bytes are taken at once under a bound: little enough that several fetches share it evenly, and that a
// slow one is not taken for one that has stopped.
func portion(bandwidth int64) int { return int(min(max(bandwidth/10, 512), 64<<10)) }

// counting is an answer's body.
type counting struct {
	io.ReadCloser
	ctx      context.Context
	progress *progress
	pace     *rate.Limiter
}

// Read is io.Reader's.
func (b *counting) Read(buf []byte) (int, error) {
	if b.pace != nil {
		buf = buf[:min(len(buf), b.pace.Burst())]
	}
	n, err := b.ReadCloser.Read(buf)
	b.progress.received.Add(int64(n))
	if b.pace != nil && n > 0 {
		if late := b.pace.WaitN(b.ctx, n); late != nil {
			err = errors.Join(err, late)
		}
	}
	return n, err
}
