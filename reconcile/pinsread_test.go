package reconcile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gitvirt/gitvirt/source"
)

// commits are revisions of a hundred configs, of which each commit changes one.
type commits struct {
	t     *testing.T
	dir   string
	asked int
	err   error
}

func (c *commits) at(_ context.Context, commit string) (*source.Snapshot, error) {
	c.asked++
	if c.err != nil {
		return nil, c.err
	}
	s, err := source.Folder(filepath.Join(c.dir, commit))
	if err != nil {
		return nil, source.ErrUnknownCommit
	}
	s.Commit = commit
	return s, nil
}

func (c *commits) write(n int) string {
	c.t.Helper()
	commit := fmt.Sprintf("%07d", n)
	dir := filepath.Join(c.dir, commit)
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	for i := range 100 {
		memory := "1Gi"
		if i == n {
			memory = "2Gi"
		}
		text := fmt.Sprintf("apiVersion: gitvirt.io/v1alpha1\nkind: VirtualMachineInstanceConfig\nmetadata: {name: m%d}\nspec: {template: {spec: {domain: {memory: {guest: %s}}}}}\n", i, memory)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	return commit
}

// TestPinsKeepLittle: a pin shares the files of the newest revision, few revisions are kept whole, and what no run state names
// any more is forgotten.
func TestPinsKeepLittle(t *testing.T) {
	c := &commits{t: t, dir: t.TempDir()}
	for n := range 6 {
		c.write(n)
	}
	newest, err := c.at(t.Context(), "0000000")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDocuments("")
	set, err := d.Read(newest)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPins(c.at)
	p.begin(d)
	for n := 1; n < 6; n++ {
		for _, config := range []string{"m7", "m8"} {
			if _, err := p.of(fmt.Sprintf("%07d", n), config); !errors.Is(err, errUnread) {
				t.Errorf("it is known before it was read: %v", err)
			}
		}
	}
	p.read(t.Context())
	if p.pending() || !p.take() || p.take() {
		t.Error("what was read is not told, or not once")
	}
	for n := 1; n < 6; n++ {
		pin, err := p.of(fmt.Sprintf("%07d", n), "m7")
		if err != nil || pin.Commit != fmt.Sprintf("%07d", n) {
			t.Errorf("%+v, %v", pin, err)
		}
	}
	if len(p.sets) != maxPinnedSets {
		t.Errorf("%d revisions are kept whole", len(p.sets))
	}
	// Of the files of a pinned revision, only the two that differ from the newest were read anew.
	shared := 0
	for name, config := range p.sets[0].set.Configs {
		if config == set.Configs[name] {
			shared++
		}
	}
	if shared != 98 {
		t.Errorf("%d documents are shared with the newest revision, want 98", shared)
	}
	p.begin(d)
	if _, err := p.of("0000001", "m7"); err != nil {
		t.Errorf("it was forgotten though it was asked for: %v", err)
	}
	p.begin(d)
	if len(p.known) != 1 {
		t.Errorf("%d pins are kept, and one is asked for", len(p.known))
	}
}

// TestPinsTryAgain: a repository that cannot be read now is no reason to give up a pin, and a commit that is not there is asked
// for again when there is a new revision.
func TestPinsTryAgain(t *testing.T) {
	c := &commits{t: t, dir: t.TempDir(), err: errors.New("the disk is full")}
	p := NewPins(c.at)
	p.begin(NewDocuments(""))
	ask := func(want error) {
		t.Helper()
		if _, err := p.of("0000001", "m1"); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	ask(errUnread)
	p.read(t.Context())
	ask(errUnread)
	if !p.pending() {
		t.Error("it is not tried again")
	}
	c.err = nil
	p.read(t.Context())
	if _, err := p.of("0000001", "m1"); err == nil || errors.Is(err, errUnread) || p.pending() {
		t.Errorf("a commit that is not there: %v", err)
	}
	asked := c.asked
	p.read(t.Context())
	if c.asked != asked {
		t.Error("it was asked for again, and nothing has changed")
	}
	c.write(1)
	p.begin(NewDocuments(""))
	ask(errUnread)
	p.read(t.Context())
	ask(nil)
}
