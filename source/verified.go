package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gitvirt/gitvirt/source/verify"
)

// VerifyMode says which signatures a revision must carry.
type VerifyMode string

// The modes. When tags are followed, the tag's own signature counts in both, because it is what says that this commit is
// a release; All wants the new commits signed beside it.
const (
	// VerifyHead wants the newest commit signed, a merge itself. Its signature covers its history, which it names by
	// hashes: who signs vouches for all that is merged.
	VerifyHead VerifyMode = "Head"
	// VerifyAll wants every commit signed that came since the revision accepted last, along all parents, so that what
	// was merged must have been signed by somebody too. After the branch was rewritten these are the commits that
	// the accepted revision does not lead to. The first revision ever is where trust begins: of it the newest commit
	// alone must be signed.
	VerifyAll VerifyMode = "All"
)

// Verify names the files with the keys that are trusted. They are read at every use, so that keys can be exchanged while
// the agent runs. A file that cannot be read verifies nothing.
type Verify struct {
	// Mode is empty when no signature is asked for.
	Mode VerifyMode
	// OpenPGPKeyring holds public keys, armoured or not.
	OpenPGPKeyring string
	// SSHAllowedSigners is a file as ssh-keygen(1), ALLOWED SIGNERS, describes it. Times in it without a Z are of
	// this machine's time zone.
	SSHAllowedSigners string
	// SSHRevokedKeys is a file of SSH public keys, one to a line, that count no more.
	SSHRevokedKeys string
}

// ErrUnverified means that a revision does not carry the signatures that it must.
var ErrUnverified = errors.New("it is not verified")

// UnverifiedError says which revision was not taken, and why. It wraps ErrUnverified.
type UnverifiedError struct {
	// Commit is what would have been the revision, Tag the name of the tag that stands there, if tags are followed.
	Commit, Tag string
	Err         error

	keys string // what the key files held
}

func (e *UnverifiedError) Error() string {
	what := "commit " + e.Commit
	if e.Tag != "" {
		what = fmt.Sprintf("tag %s (commit %s)", e.Tag, e.Commit)
	}
	return fmt.Sprintf("%s is not verified: %v", what, e.Err)
}

func (e *UnverifiedError) Unwrap() []error { return []error{ErrUnverified, e.Err} }

// Validate says what is wrong with the options, in the words of the agent's file. It reads no file.
func (v Verify) Validate() error {
	switch {
	case v == Verify{}:
		return nil
	case v.Mode != VerifyHead && v.Mode != VerifyAll:
		return fmt.Errorf("verify.mode %q: say %s or %s", v.Mode, VerifyHead, VerifyAll)
	case v.OpenPGPKeyring == "" && v.SSHAllowedSigners == "":
		return errors.New("verify says no keys: name a file in verify.openPGPKeyring or verify.sshAllowedSigners")
	case v.SSHRevokedKeys != "" && v.SSHAllowedSigners == "":
		return errors.New("verify.sshRevokedKeys says which SSH keys do not count, and none does: name a file in verify.sshAllowedSigners")
	}
	return nil
}

// keys reads the key files. The mark differs when one of them does.
func (v Verify) keys() (keys verify.Keys, mark string, err error) {
	var errs []error
	sum := sha256.New()
	read := func(file string, use func(data []byte) error) {
		if file == "" {
			return
		}
		data, err := os.ReadFile(file)
		if err == nil {
			err = use(data)
		} else {
			err = fmt.Errorf("cannot read the keys that are trusted: %w", err)
		}
		errs = append(errs, err)
		fmt.Fprintf(sum, "%s %d %x %v\n", file, len(data), sha256.Sum256(data), err)
	}
	read(v.OpenPGPKeyring, func(data []byte) (err error) {
		keys.OpenPGP, err = verify.ReadKeyring(v.OpenPGPKeyring, data)
		return err
	})
	read(v.SSHAllowedSigners, func(data []byte) (err error) {
		keys.SSH, err = verify.ReadSigners(v.SSHAllowedSigners, data, time.Local)
		return err
	})
	read(v.SSHRevokedKeys, func(data []byte) (err error) {
		keys.Revoked, err = verify.ReadRevoked(v.SSHRevokedKeys, data)
		return err
	})
	return keys, fmt.Sprintf("%x", sum.Sum(nil)), errors.Join(errs...)
}

// candidate is a revision that is to be verified.
type candidate struct {
	store  *store
	commit plumbing.Hash
	object plumbing.Hash // of the tag; the commit, when there is none
	tag    string        // its name; empty for a branch
	base   plumbing.Hash // the revision accepted before it; zero: none, or it does not matter
	now    time.Time     // zero for a revision that was accepted once
}

// verify says with an UnverifiedError that a revision must not be taken; another error means that its objects are
// missing or damaged.
func (s *Source) verify(ctx context.Context, c candidate) error {
	if s.opt.Verify.Mode == "" {
		return nil
	}
	keys, mark, err := s.opt.Verify.keys()
	if err == nil {
		err = verifyCandidate(ctx, c, keys, s.opt.Verify.Mode)
	}
	switch {
	case err == nil:
		s.trusted = mark
		return nil
	case errors.Is(err, ErrIncomplete) || ctx.Err() != nil:
		return err
	}
	return &UnverifiedError{c.commit.String(), c.tag, err, mark}
}

func verifyCandidate(ctx context.Context, c candidate, keys verify.Keys, mode VerifyMode) error {
	commits := []plumbing.Hash{c.commit}
	if c.tag != "" {
		if err := verifyTag(c, keys); err != nil {
			return err
		}
		commits = nil
	}
	if mode == VerifyAll && !c.base.IsZero() {
		more, err := newCommits(ctx, c.store.objects, c.commit, c.base)
		if err != nil {
			return err
		}
		commits = append(commits, slices.DeleteFunc(more, func(h plumbing.Hash) bool { return slices.Contains(commits, h) })...)
	}
	for _, hash := range commits {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := verifyCommit(c, hash, keys); err != nil {
			if hash == c.commit && c.tag == "" {
				return err
			}
			// With clocks that go wrong an old commit may look new.
			if old, e := leadsTo(ctx, c.store.objects, c.base, hash); old || ctx.Err() != nil {
				if e != nil {
					return e
				}
				continue
			}
			return fmt.Errorf("with it comes commit %s: %w", hash, err)
		}
	}
	return nil
}

func verifyTag(c candidate, keys verify.Keys) error {
	if c.object == c.commit {
		return errors.New("it is a lightweight tag, which cannot be signed: make it with git tag -s")
	}
	raw, err := c.store.read(plumbing.TagObject, c.object)
	if err != nil {
		return err
	}
	t, err := verify.SplitTag(raw)
	switch {
	case err != nil:
		return err
	case t.Name != c.tag:
		return fmt.Errorf("it was signed as tag %.60q, and not under the name that it has now", t.Name)
	case t.Object != c.commit.String() || t.Type != "commit":
		return fmt.Errorf("it is a tag of %s %s", t.Type, t.Object)
	}
	_, err = keys.Check(t.Signed, c.now)
	return err
}

func verifyCommit(c candidate, hash plumbing.Hash, keys verify.Keys) error {
	raw, err := c.store.read(plumbing.CommitObject, hash)
	if err != nil {
		return err
	}
	split, err := verify.SplitCommit(raw)
	if err != nil {
		return err
	}
	// What was verified must be what is used: another parser reads commits when files are looked for.
	used, err := c.store.commit(hash)
	if err != nil {
		return err
	}
	same := used.TreeHash.String() == split.Tree && slices.EqualFunc(used.ParentHashes, split.Parents,
		func(h plumbing.Hash, name string) bool { return h.String() == name })
	if !same || !bytes.HasSuffix(split.Payload, []byte(used.Message)) {
		return errors.New("it can be read in two ways")
	}
	_, err = keys.Check(split.Signed, c.now)
	return err
}

// arrived reads what the followed reference stands for, once all of it is in the store, and verifies it.
func (s *Source) arrived(ctx context.Context, st *store, object, previous plumbing.Hash, former *folder) (*Snapshot, error) {
	commit, err := st.peel(object)
	if err != nil {
		return nil, err
	}
	c := candidate{store: st, commit: commit, object: object, tag: s.follow.tag(), now: time.Now()}
	c.base = plumbing.NewHash(cmp.Or(s.rec.Commit, s.opt.Accepted))
	if err := s.verify(ctx, c); err != nil {
		return nil, err
	}
	snap, err := s.revision(ctx, st, commit, previous, former)
	if err != nil {
		return nil, err
	}
	s.mark(snap, c.tag, object)
	return snap, nil
}

// again verifies a revision that was accepted before: the keys may be others by now, and so may the store.
func (s *Source) again(ctx context.Context, st *store, rec record) error {
	return s.verify(ctx, candidate{store: st, commit: plumbing.NewHash(rec.Commit), object: rec.reference(), tag: rec.Tag})
}

// keysChanged has what was refused looked at again, and says whether the revision in force must be, because the keys are
// others than those that it was verified with.
func (s *Source) keysChanged() bool {
	if s.opt.Verify.Mode == "" {
		return false
	}
	_, mark, _ := s.opt.Verify.keys() // a mistake in them is found out by the one who uses them
	var refused *UnverifiedError
	if errors.As(s.held.err, &refused) && refused.keys != mark {
		s.held = held{}
	}
	return s.trusted != mark
}

// inHistory says whether a commit may be used as an earlier revision: one that a verified revision leads to is covered
// by its signature. Of former revisions that a rewritten branch no longer leads to, those count that the keys verify
// by now.
func (s *Source) inHistory(ctx context.Context, hash plumbing.Hash) error {
	if s.opt.Verify.Mode == "" {
		return nil
	}
	for _, head := range s.heads() {
		if leads, err := leadsTo(ctx, s.store.objects, head, hash); !leads {
			if ctx.Err() != nil {
				return err
			}
			continue
		}
		rec := s.rec
		if head.String() != rec.Commit {
			rec = record{Commit: head.String()}
		}
		if err := s.again(ctx, s.store, rec); err == nil {
			return nil
		} else if ctx.Err() != nil {
			return err
		}
	}
	return &UnverifiedError{Commit: hash.String(), Err: errors.New("no verified revision leads to it")}
}
