package source

import "errors"

// Errors that callers can tell apart with errors.Is.
var (
	// ErrNoRevision means that the store holds no revision of this branch yet.
	ErrNoRevision = errors.New("no revision was fetched yet")
	// ErrBranchGone means that the remote answered and has no such branch.
	ErrBranchGone = errors.New("the repository has no such branch")
	// ErrIncomplete means that a tree or blob of the revision is missing or damaged. Nothing may be concluded from
	// such a tree, least of all that a file was deleted.
	ErrIncomplete = errors.New("the revision is incomplete")
	// ErrUnknownCommit means that the store does not hold the commit.
	ErrUnknownCommit = errors.New("the commit is not in the branch's history")
	// ErrHostKey means that the SSH server showed a key that the known_hosts file does not have for it.
	ErrHostKey = errors.New("the SSH server's key is not the pinned one")
	// ErrInUse means that another process uses the store.
	ErrInUse = errors.New("another process uses the store")
	// ErrClosed means that the source was closed.
	ErrClosed = errors.New("the source is closed")
)

// storeError marks an error of our own store: it is mended by fetching afresh, not by waiting for the remote.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

func inStore(err error) error {
	if err == nil {
		return nil
	}
	return &storeError{err}
}
