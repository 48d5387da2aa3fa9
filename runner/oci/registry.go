package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// parse reads an image's name. The registry has to be said: without it others take one of their own.
func parse(img string) (name.Reference, error) {
	registry, _, ok := strings.Cut(img, "/")
	if !ok || registry != "localhost" && !strings.ContainsAny(registry, ".:") {
		return nil, unusable("the image %q names no registry: say REGISTRY/REPOSITORY[:TAG][@sha256:DIGEST]", img)
	}
	ref, err := name.ParseReference(img, name.WeakValidation)
	if err != nil {
		return nil, unusable("%q is no name of an image: %w", img, err)
	}
	return ref, nil
}

// remoteImage is an image in a registry, with the digest that its name stands for now: an index's, if it is in one.
type remoteImage struct {
	v1.Image
	digest string
}

// open asks the registry for an image's manifest.
func open(ctx context.Context, p *progress, img, pinned string) (*remote.Descriptor, error) {
	ref, err := parse(img)
	if err != nil {
		return nil, err
	}
	if pinned != "" {
		ref = ref.Context().Digest(pinned)
	}
	desc, err := remote.Get(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(&counting{p, p.via}), remote.WithUserAgent("gitvirt"))
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		if pinned != "" && !strings.Contains(img, "@") {
			return nil, fmt.Errorf("the image was pinned as %s, which the registry does not have any more: %w", pinned, err)
		}
		return nil, fmt.Errorf("the registry has no such image: %w", err)
	}
	return desc, err
}

// choose finds the image for this host.
func choose(desc *remote.Descriptor) (*remoteImage, error) {
	digest := desc.Digest.String()
	if !desc.MediaType.IsIndex() {
		img, err := desc.Image()
		if err != nil {
			return nil, unusable("it is no image: %w", err)
		}
		return &remoteImage{img, digest}, nil
	}
	index, err := desc.ImageIndex()
	if err != nil {
		return nil, unusable("it is no image: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, unusable("cannot read its index: %w", err)
	}
	want := v1.Platform{OS: "linux", Architecture: runtime.GOARCH}
	var others []string
	for _, m := range manifest.Manifests {
		if m.Platform == nil || !m.MediaType.IsImage() {
			continue
		}
		if m.Platform.Satisfies(want) {
			img, err := index.Image(m.Digest)
			return &remoteImage{img, digest}, err
		}
		others = append(others, m.Platform.String())
	}
	return nil, unusable("it has no image for %s, but for %q", want, others)
}

// counting is the way to registries. It counts what comes, and uses plain HTTP to this host only: the library would use it
// in private networks too, and follow a redirect to it.
type counting struct {
	p   *progress
	via http.RoundTripper
}

// newTransport is the library's, which goes to no address of the host's own link: what a name stands for there, a document cannot
// be judged by, and clouds tell a machine its secrets there.
func newTransport() http.RoundTripper {
	usual, ok := remote.DefaultTransport.(*http.Transport)
	if !ok {
		usual = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t := usual.Clone()
	t.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second, Control: refuseLink}).DialContext
	return t
}

// metadata is where a cloud's secrets are in IPv6, which is no link-local address.
var metadata = netip.MustParseAddr("fd00:ec2::254")

func refuseLink(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("cannot tell what %s is: %w", address, err)
	}
	if ip := at.Addr().Unmap(); ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.WithZone("") == metadata {
		return fmt.Errorf("%s is not asked: it is an address of this host's own link", ip)
	}
	return nil
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !loopback(r.URL.Hostname()) {
		return nil, fmt.Errorf("%s is not asked by %s: only a registry on this host is; others need TLS", r.URL.Host, r.URL.Scheme)
	}
	answer, err := c.via.RoundTrip(r)
	if err == nil {
		answer.Body = &countingBody{answer.Body, c.p}
	}
	return answer, err
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

type countingBody struct {
	io.ReadCloser
	p *progress
}

func (b *countingBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	b.p.received.Add(int64(n))
	return n, err
}
