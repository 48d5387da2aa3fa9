package oci

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/runner/image"
)

// Waiting is how many wait for the fetch to a place.
func (f *Fetcher) Waiting(to string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl := f.flights[to]; fl != nil {
		return fl.waiting
	}
	return 0
}

// The steps of bring, each of which a kill can be the last of.
const Steps = 5

// BringUntil does what bring does with a content, and stops after some of the steps, as a killed process would.
func BringUntil(img, digest, content, to string, step int) error {
	from := source{img, ""}
	if err := makeFolder(filepath.Dir(to)); err != nil || step == 0 {
		return err
	}
	w := &writer{ctx: context.Background(), p: &progress{began: time.Now()}, dir: filepath.Dir(to), limit: 1 << 40}
	if step == 1 { // while the content is written
		tmp, err := image.CreateTemp(w.dir)
		if err != nil {
			return err
		}
		_, err = tmp.File.WriteString(content[:len(content)/2])
		return err
	}
	tmp, err := w.write(strings.NewReader(content), int64(len(content)))
	if err != nil || step == 2 {
		return err
	}
	if err := tmp.File.Chmod(mode); err != nil {
		return err
	}
	if err := record(from, digest, to); err != nil || step == 3 {
		return err
	}
	if step == 4 { // renamed, and the folder not synced
		return tmp.Rename(to, false)
	}
	return fmt.Errorf("there is no step %d", step)
}
