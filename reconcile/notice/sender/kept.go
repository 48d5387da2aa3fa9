package sender

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/renameio/v2"

	"github.com/gitvirt/gitvirt/reconcile/notice"
)

// kept is what was said to each target, in a file. Losing it repeats one notice for each.
type kept struct {
	file string

	mu      sync.Mutex
	targets map[string]notice.Said
}

// load reads the file. It returns something to go on with, even with an error.
func load(file string) (*kept, error) {
	k := &kept{file: file, targets: map[string]notice.Said{}}
	raw, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, nil
	case err != nil:
		return k, fmt.Errorf("cannot read what was told: %w", err)
	}
	var in struct{ Targets map[string]notice.Said }
	if err := json.Unmarshal(raw, &in); err != nil {
		return k, fmt.Errorf("cannot read what was told in %s, and go on without: %w", file, err)
	}
	if in.Targets != nil {
		k.targets = in.Targets
	}
	return k, nil
}

func (k *kept) said(target string) notice.Said {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.targets[target]
}

// only forgets targets that are not told any more.
func (k *kept) only(targets map[string]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.targets, func(key string, _ notice.Said) bool { return !targets[key] })
}

// keep writes the file so that it is there whole, before or after a crash.
func (k *kept) keep(target string, said notice.Said) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.targets[target] = said
	raw, err := json.MarshalIndent(map[string]any{"targets": k.targets}, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot keep what was told: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return fmt.Errorf("cannot keep what was told: %w", err)
	}
	err = renameio.WriteFile(k.file, append(raw, '\n'), 0o600, renameio.WithTempDir(filepath.Dir(k.file)))
	if err != nil {
		return fmt.Errorf("cannot keep what was told: %w", err)
	}
	return nil
}
