package web

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
)

// The names of what is kept of a download that was cut off, beside the file's place: its bytes, and what they are of.
const (
	partSuffix = ".part"
	ofSuffix   = ".part.of"
)

// of is what the bytes of a part are of. A server that says neither validator may have changed the file meanwhile without a
// word: then they are of nothing.
type of struct {
	URL          string `json:"url"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
	Total        int64  `json:"total"` // bytes; -1 when the server did not say
}

// validator is what the server tells one content of the file from another by; empty when it does not.
func (o of) validator() string {
	if o.ETag != "" && !strings.HasPrefix(o.ETag, "W/") { // RFC 9110, 13.1.5: a weak one does not tell byte from byte
		return o.ETag
	}
	return o.LastModified
}

// lockPatience is how long a lock may be somebody else's before that is taken for another agent's fetch.
const lockPatience = time.Second

// part is a download, whole or not, which only this process works on.
type part struct {
	path string // the file's place
	file *os.File
	of   of
	have int64
}

// openPart opens what an earlier try left, or begins anew.
func openPart(to, url string) (*part, error) {
	f, err := os.OpenFile(to+partSuffix, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		// A process that is being started has the files of this one until it is another program.
		if time.Since(begun) > lockPatience {
			f.Close()
			return nil, fmt.Errorf("another process is fetching to %s: %w", to, err)
		}
	}
	if err := same(f); err != nil {
		f.Close()
		return nil, err
	}
	p := &part{path: to, file: f}
	raw, err := os.ReadFile(to + ofSuffix)
	if err == nil {
		err = json.Unmarshal(raw, &p.of)
	}
	info, err2 := f.Stat()
	if err2 != nil {
		f.Close()
		return nil, err2
	}
	p.have = info.Size()
	if err != nil || p.of.URL != url || p.of.validator() == "" || p.of.Total >= 0 && p.have > p.of.Total {
		if err := p.clear(); err != nil {
			f.Close()
			return nil, err
		}
	}
	return p, nil
}

// same makes sure that a file still has its name: it may have been removed for want of room, before it was locked.
func same(f *os.File) error {
	is, err := f.Stat()
	named, err2 := os.Stat(f.Name())
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if !os.SameFile(is, named) {
		return fmt.Errorf("%s was removed meanwhile", f.Name())
	}
	return nil
}

// clear begins anew.
func (p *part) clear() error {
	p.of, p.have = of{}, 0
	if err := os.Remove(p.path + ofSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return p.file.Truncate(0)
}

// begin says what the bytes to come are of. It is on the disk before they are.
func (p *part) begin(o of) error {
	if err := p.clear(); err != nil {
		return err
	}
	p.of = o
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	tmp, err := image.CreateTemp(filepath.Dir(p.path))
	if err != nil {
		return err
	}
	defer tmp.Discard()
	if _, err := tmp.File.Write(raw); err != nil {
		return fmt.Errorf("cannot record what is fetched: %w", err)
	}
	if err := tmp.File.Sync(); err != nil {
		return fmt.Errorf("cannot record what is fetched: %w", err)
	}
	return tmp.Rename(p.path+ofSuffix, true)
}

// remove takes it all away.
func (p *part) remove() {
	_ = os.Remove(p.path + ofSuffix)
	_ = os.Remove(p.path + partSuffix)
	_ = p.file.Close()
}

// sum reads a file whole, and gives its checksum by the algorithm of another.
func sum(f *os.File, like string, j *download.Job) (string, error) {
	algorithm, _, _ := strings.Cut(like, ":")
	var h hash.Hash
	switch algorithm {
	case "sha256":
		h = sha256.New()
	case "sha512":
		h = sha512.New()
	default:
		return "", unusable("%q is no checksum that is known: say sha256 or sha512", like)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{h}, told{f, j.Worked}, make([]byte, 1<<20)); err != nil {
		return "", fmt.Errorf("cannot verify what was fetched: %w", err)
	}
	return fmt.Sprintf("%s:%x", algorithm, h.Sum(nil)), nil
}
