package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/renameio/v2"

	"github.com/gitvirt/gitvirt/runner/image"
)

// ledger is what the agent notes of storage that cannot note it itself, in a file: which folders it has marked, and the
// volumes that it makes in pools that are no folders, which is written down before one is made. Files in folders carry
// their mark themselves. Without the ledger no volume is overwritten or deleted: what it does not have counts as nobody's.
type ledger struct {
	file string // empty: nothing outlives the runner

	mu      sync.Mutex
	read    bool
	content ledgerContent
}

type ledgerContent struct {
	// Folders are the pools, by UUID, whose folder has a mark.
	Folders map[string]bool `json:"folders,omitempty"`
	// Volumes are by POOL/NAME.
	Volumes map[string]entered `json:"volumes,omitempty"`
}

// entered is a volume in a pool that is no folder.
type entered struct {
	image.Mark
	// Making says that the volume may be there, and that nothing is in it yet that anybody needs.
	Making bool `json:"making,omitempty"`
}

// look gives what is noted, and change writes what it is to be, if the function says so.
func (l *ledger) look(f func(*ledgerContent) (write bool)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		if err := l.load(); err != nil {
			return err
		}
		l.read = true
	}
	if !f(&l.content) || l.file == "" {
		return nil
	}
	if err := l.save(); err != nil {
		l.read = false // what is in the file counts
		return err
	}
	return nil
}

func (l *ledger) load() error {
	l.content = ledgerContent{}
	if l.file != "" {
		raw, err := os.ReadFile(l.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot read what is noted of volumes: %w", err)
		}
		if err == nil && json.Unmarshal(raw, &l.content) != nil {
			l.content = ledgerContent{} // a broken one is as good as a lost one
		}
	}
	if l.content.Folders == nil {
		l.content.Folders = map[string]bool{}
	}
	if l.content.Volumes == nil {
		l.content.Volumes = map[string]entered{}
	}
	return nil
}

func (l *ledger) save() error {
	raw, err := json.MarshalIndent(l.content, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot note volumes: %w", err)
	}
	dir := filepath.Dir(l.file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot note volumes: %w", err)
	}
	if err := renameio.WriteFile(l.file, append(raw, '\n'), 0o600, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("cannot note volumes: %w", err)
	}
	return image.Sync(dir)
}

// noted is what is noted of a volume.
func (l *ledger) noted(pool, name string) (e entered, ok bool, err error) {
	err = l.look(func(c *ledgerContent) bool {
		e, ok = c.Volumes[pool+"/"+name]
		return false
	})
	return e, ok, err
}

func (l *ledger) note(pool, name string, e entered) error {
	return l.look(func(c *ledgerContent) bool {
		old, ok := c.Volumes[pool+"/"+name]
		c.Volumes[pool+"/"+name] = e
		return !ok || old != e
	})
}

func (l *ledger) forget(pool, name string) error {
	return l.look(func(c *ledgerContent) bool {
		_, ok := c.Volumes[pool+"/"+name]
		delete(c.Volumes, pool+"/"+name)
		return ok
	})
}
