package oci

import (
	"context"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
)

// Source is a file in an image.
type Source struct {
	// Image is REGISTRY/REPOSITORY[:TAG][@sha256:DIGEST]. Its tag is looked up once: from then on the digest is what counts.
	Image string
	// Path is the file's in the image; if it is empty, the only regular file below /disk is taken. The platform is Linux on
	// this host's architecture.
	Path string
	// Login is what the registry is asked with; nil for what the host's docker configuration has.
	Login authn.Keychain
}

// Origin is what is recorded of the file.
func (s Source) Origin() download.Origin { return download.Origin{Image: s.Image, Path: s.Path} }

// Pinned says whether fetching to a place again would bring the same bytes as before: the image's name has its digest, or
// the digest was recorded.
func (s Source) Pinned(to string) (bool, error) {
	if strings.Contains(s.Image, "@") {
		return true, nil
	}
	digest, err := download.Pinned(s.Origin(), to)
	return digest != "", err
}

// Bring writes the file.
func (s Source) Bring(ctx context.Context, j *download.Job) (*image.Temp, string, error) {
	desc, err := s.open(ctx, j)
	if err != nil {
		return nil, "", err
	}
	digest := desc.Digest.String()
	if err := j.Judged(digest); err != nil {
		return nil, "", err
	}
	img, err := choose(desc)
	if err != nil {
		return nil, "", err
	}
	if err := j.MakeFolder(); err != nil {
		return nil, "", err
	}
	tmp, err := extract(ctx, img, s.Path, j)
	return tmp, digest, err
}
