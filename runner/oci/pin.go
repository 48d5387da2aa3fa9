package oci

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gitvirt/gitvirt/runner/image"
)

// pinSuffix ends the name of the record beside a fetched file.
const pinSuffix = ".digest"

// pin is the record of what a file was fetched from. It is written before the file has its name, and stays when the file
// is removed: overlays on it need the very same bytes.
type pin struct {
	Image  string `json:"image"`
	Path   string `json:"path,omitempty"`
	Digest string `json:"digest"`
}

// Pinned says whether fetching to a place again would bring the same bytes as before: the image's name has its digest, or
// the digest was recorded.
func Pinned(img, path, to string) (bool, error) {
	if strings.Contains(img, "@") {
		return true, nil
	}
	digest, err := readPin(source{img, path}, to)
	return digest != "", err
}

// readPin is the recorded digest; empty when there is none.
func readPin(from source, to string) (string, error) {
	raw, err := os.ReadFile(to + pinSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var p pin
	if err := json.Unmarshal(raw, &p); err != nil {
		return "", unusable("cannot read %s: %w; remove it, if no disk is an overlay of %s", to+pinSuffix, err, to)
	}
	if (source{p.Image, p.Path}) != from {
		return "", unusable("%s says that the file is of another image, %s", to+pinSuffix, p.Image)
	}
	return p.Digest, nil
}

// writePin records a digest. It fails with fs.ErrExist when there is a record.
func writePin(from source, digest, to string) error {
	raw, err := json.Marshal(pin{from.image, from.path, digest})
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
