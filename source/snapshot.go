package source

import "time"

// Snapshot is one revision of the configuration repository, read whole: every tree and blob under the path has
// been read before a Snapshot exists (DESIGN section 7; an incomplete tree looks like deletions, so it is no tree).
// It is never changed after it was returned and is safe for concurrent use.
type Snapshot struct {
	// Commit is the full hexadecimal hash of the commit.
	Commit string
	// Branch is the branch that the commit was the head of.
	Branch string
	// Time is the committer's time.
	Time time.Time
	// Entries are the regular files under the path, sorted by Path. Dot-folders are left out, and what
	// .gitvirtignore files name.
	Entries []Entry
	// Allowed is the largest N of the trailers "Gitvirt-Allow-Removals: N" on the commits after the previous
	// snapshot's, this one included; 0 when there is none.
	Allowed int

	read func(hash string) ([]byte, error)
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

// Read returns the bytes of an entry.
func (s *Snapshot) Read(e Entry) ([]byte, error) { return s.read(e.Hash) }
