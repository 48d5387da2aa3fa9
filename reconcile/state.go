package reconcile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// state is what outlives the agent. Losing it loses no machine: a removal that was let through is asked for again, and a
// document that is broken just then has no earlier form to stand in for it.
type state struct {
	// Good is the last revision without a problem.
	Good string `json:"good,omitempty"`
	// Hosts are the hosts of all run states in the last revision that was read.
	Hosts map[string]string `json:"hosts,omitempty"`
	// MovedFrom are the hosts that this host's instances were on before.
	MovedFrom map[string]string `json:"movedFrom,omitempty"`
	// LetThrough are the instances whose removal is under way.
	LetThrough map[string]bool `json:"letThrough,omitempty"`
	// Own are the UUIDs of the networks and storage pools (Network/lan) that are ours though their UUIDs are not derived. When
	// it is lost, those that are not wanted any more are left alone.
	Own map[string]string `json:"own,omitempty"`
	// Kept are the tokens of the secrets that libvirt was last given, by storage pool. When it is lost, they are given again.
	Kept map[string]string `json:"kept,omitempty"`
	// LetGo are the networks and storage pools whose removal is under way.
	LetGo map[string]bool `json:"letGo,omitempty"`
}

// loadState reads the state; a missing file is an empty one, and so is a broken one, which is said.
func loadState(file string) (state, error) {
	s := state{}
	raw, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, fmt.Errorf("cannot read the agent's state: %w", err)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return state{}, fmt.Errorf("cannot read the agent's state in %s, and go on without: %w", file, err)
	}
	return s, nil
}

// save writes the state so that it is there whole, before or after a crash.
func (s state) save(file string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write the agent's state: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("cannot write the agent's state: %w", err)
	}
	err = renameio.WriteFile(file, append(raw, '\n'), 0o600, renameio.WithTempDir(filepath.Dir(file)))
	if err != nil {
		return fmt.Errorf("cannot write the agent's state: %w", err)
	}
	return nil
}
