package download

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gitvirt/gitvirt/runner/image"
)

// pinSuffix ends the name of the record beside a fetched file.
const pinSuffix = ".digest"

// Origin is where a file comes from, as a document says it: in an OCI image, or at a URL.
type Origin struct {
	Image string `json:"image,omitempty"`
	Path  string `json:"path,omitempty"` // in the image
	URL   string `json:"url,omitempty"`
	// Sum is the checksum of what is at the URL, and Checksums the URL of a file that has it.
	Sum       string `json:"sum,omitempty"`
	Checksums string `json:"checksums,omitempty"`
	Format    string `json:"format,omitempty"`
}

// String is the image or the URL.
func (o Origin) String() string {
	if o.URL != "" {
		return o.URL
	}
	return o.Image
}

// pin is the record of what a file was fetched from. It is written before the file has its name, and stays when the file
// is removed: overlays on it need the very same bytes.
type pin struct {
	Origin
	Digest string `json:"digest"`
}

// Pinned is what a file was when it was first fetched to a place; empty when there is no record of that.
func Pinned(from Origin, to string) (string, error) { return readPin(from, to) }

// Recorded is the digest of what was first fetched to a place, wherever from; empty when there is no record.
func Recorded(to string) (string, error) {
	p, err := readRecord(to)
	return p.Digest, err
}

// readPin is the recorded digest; empty when there is none.
func readPin(from Origin, to string) (string, error) {
	p, err := readRecord(to)
	if err != nil || p == (pin{}) {
		return "", err
	}
	if p.Origin != from {
		return "", unusable("%s says that the file is of another image, %s", to+pinSuffix, p.Origin)
	}
	return p.Digest, nil
}

func readRecord(to string) (p pin, err error) {
	raw, err := os.ReadFile(to + pinSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, unusable("cannot read %s: %w; remove it, if no disk is an overlay of %s", to+pinSuffix, err, to)
	}
	return p, nil
}

// writePin records a digest. It fails with fs.ErrExist when there is a record.
func writePin(from Origin, digest, to string) error {
	raw, err := json.Marshal(pin{from, digest})
	if err != nil {
		return err
	}
	tmp, err := image.CreateTemp(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer tmp.Discard()
	if _, err := tmp.File.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("cannot record the digest: %w", err)
	}
	if err := tmp.File.Sync(); err != nil {
		return fmt.Errorf("cannot record the digest: %w", err)
	}
	return tmp.Rename(to+pinSuffix, false)
}
