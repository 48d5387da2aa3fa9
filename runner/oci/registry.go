package oci

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/gitvirt/gitvirt/runner/download"
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
func (s Source) open(ctx context.Context, j *download.Job) (*remote.Descriptor, error) {
	ref, err := parse(s.Image)
	if err != nil {
		return nil, err
	}
	if j.Pinned != "" {
		ref = ref.Context().Digest(j.Pinned)
	}
	login := s.Login
	if login == nil {
		login = authn.DefaultKeychain
	}
	desc, err := remote.Get(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(login),
		remote.WithTransport(secure{j.Transport()}), remote.WithUserAgent("gitvirt"))
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		if j.Pinned != "" && !strings.Contains(s.Image, "@") {
			return nil, fmt.Errorf("the image was pinned as %s, which the registry does not have any more: %w", j.Pinned, err)
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

// secure is the way to registries: plain HTTP to this host only. The library would use it in private networks too, and follow a
// redirect to it.
type secure struct{ via http.RoundTripper }

// RoundTrip is http.RoundTripper's.
func (s secure) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !loopback(r.URL.Hostname()) {
		return nil, fmt.Errorf("%s is not asked by %s: only a registry on this host is; others need TLS", r.URL.Host, r.URL.Scheme)
	}
	return s.via.RoundTrip(r)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
