package web

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
)

// Source is an image at a URL: http, https or file.
type Source struct {
	URL string
	// Sum is the checksum of what is there, sha256:… or sha512:…. Checksums is the URL of a file that has it under the name that
	// the URL ends in; what is found there the first time is kept. One of the two is said.
	Sum, Checksums string
	// Format is qcow2, raw or vmdk, of what is in the file once it is unpacked; found out when it is empty.
	Format string
	// Login is for the server of the URL, and for no other; nil for none.
	Login *Login
	// Convert writes a qcow2 image of a VMware disk.
	Convert func(ctx context.Context, from, to string) error
}

// Origin is what is recorded of the image.
func (s Source) Origin() download.Origin {
	return download.Origin{URL: s.URL, Sum: s.Sum, Checksums: s.Checksums, Format: s.Format}
}

// Pinned says whether fetching to a place again would bring the same bytes as before: the checksum was said, or recorded.
func (s Source) Pinned(to string) (bool, error) {
	if s.Sum != "" {
		return true, nil
	}
	digest, err := download.Pinned(s.Origin(), to)
	return digest != "", err
}

// Bring writes the image. Compressed ones are unpacked, and VMware's made qcow2.
func (s Source) Bring(ctx context.Context, j *download.Job) (*image.Temp, string, error) {
	want, err := s.want(ctx, j)
	if err != nil {
		return nil, "", err
	}
	if err := j.MakeFolder(); err != nil {
		return nil, "", err
	}
	p, err := openPart(j.To, s.URL)
	if err != nil {
		return nil, "", err
	}
	if err := s.get(ctx, j, p, want); err != nil {
		_ = p.file.Close() // what there is, stays for another try
		return nil, "", err
	}
	tmp, err := s.unpack(ctx, j, p)
	if err != nil {
		if errors.Is(err, image.ErrUnusable) {
			p.remove()
		}
		_ = p.file.Close() // for want of room, it stays: it need not be fetched again
		return nil, "", err
	}
	if tmp.File != p.file {
		p.remove()
	} else {
		_ = os.Remove(p.path + ofSuffix)
	}
	return tmp, want, nil
}

// want is the checksum that the download has to have.
func (s Source) want(ctx context.Context, j *download.Job) (string, error) {
	switch {
	case s.Sum != "":
		return s.Sum, nil
	case j.Pinned != "":
		return j.Pinned, nil
	}
	text, err := s.checksums(ctx, j)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "", unusable("%q is no URL: %w", s.URL, err)
	}
	return findSum(text, path.Base(u.Path))
}

// get has all of the download, verified.
func (s Source) get(ctx context.Context, j *download.Job, p *part, want string) error {
	for again := false; ; again = true {
		resumed := p.have > 0
		if err := s.receive(ctx, j, p, want); err != nil {
			return err
		}
		got, err := sum(p.file, want, j)
		if err != nil {
			return err
		}
		if got == want {
			return nil
		}
		if err := p.clear(); err != nil {
			return err
		}
		if !resumed || again {
			why := "the document says"
			if s.Sum == "" {
				why = "it was pinned as, or its checksums say,"
			}
			return unusable("what the server sent is not what it must be: it has %s, and %s %s", got, why, want)
		}
		// What was kept of an earlier try may be spoilt: once more, from the beginning.
	}
}

// openFile opens a file of this host.
func openFile(name string) (*os.File, int64, error) {
	if err := image.CheckPath(name); err != nil {
		return nil, 0, err
	}
	// Opening a pipe would otherwise wait for a writer.
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = unusable("%s is no regular file", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
