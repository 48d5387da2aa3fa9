package source

import (
	"fmt"
	"time"
)

// Snapshot is one revision of the configuration repository, read whole: every tree and blob under the path has
// been read before a Snapshot exists (an incomplete tree looks like deletions, so it is no tree).
// It is never changed after it was returned and is safe for concurrent use.
type Snapshot struct {
	// Commit is the full hexadecimal hash of the commit.
	Commit string
	// Branch is the branch that the commit was the head of, or tags/NAME when tags are followed.
	Branch string
	// Time is the committer's time.
	Time time.Time
	// Entries are the regular files under the path, sorted by Path. Files and folders whose name begins with a
	// dot are left out, and so are what .gitvirtignore files name, symbolic links and submodules.
	Entries []Entry
	// Allowed is the largest N of the trailers "Gitvirt-Allow-Removals: N" on the commits after the previous
	// snapshot's, this one included; 0 when there is none. When there is no previous snapshot, or its commit is
	// not known any more, only this commit counts.
	Allowed int
	// Forced says that the previous snapshot's commit is not an ancestor of this one: history was rewritten. When tags
	// are followed it says that the tag was moved to another commit, or that a newer tag went away.
	Forced bool

	diverged       bool // the previous snapshot's commit is not an ancestor, be it a rewritten branch or another tag
	tag, tagObject string
	root           *folder
	read           func(hash string) ([]byte, error)
	rest           func() // nil where nothing is kept
}

// Entry is one file of a snapshot.
type Entry struct {
	// Path is relative to the configured path, with slashes.
	Path string
	// Hash is the blob's hash in hexadecimal: the same hash, the same bytes.
	Hash string
	// Size is in bytes.
	Size int64
}

// Rest gives back what was kept in memory so that reading goes faster: all is read that is needed now. Reading stays
// possible.
func (s *Snapshot) Rest() {
	if s.rest != nil {
		s.rest()
	}
}

// Read returns the bytes of an entry. It stays possible after the store was replaced, and holds no more in memory
// than it returns. It fails when the store broke after the snapshot was made; the next Fetch mends the store.
func (s *Snapshot) Read(e Entry) ([]byte, error) {
	data, err := s.read(e.Hash)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s of revision %.12s: %w", e.Path, s.Commit, err)
	}
	return data, nil
}
