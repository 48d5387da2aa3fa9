package source

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// minAbbreviated is how much of a commit's hash must be given.
const minAbbreviated = 7

// named returns the commit that a name stands for, in the forms of gitrevisions(7) that make sense here: HEAD or the
// branch, for the revision in force; a hash or the beginning of one; and any of them with ~N, for the Nth before it
// along first parents, or with ^, for ~1.
func (s *Source) named(name string) (plumbing.Hash, error) {
	name, back, err := stepsBack(name)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var hash plumbing.Hash
	switch name {
	case "HEAD", s.opt.Branch, "refs/heads/" + s.opt.Branch:
		hash = plumbing.NewHash(s.last.Load().Commit)
	default:
		if hash, err = s.store.resolve(strings.ToLower(name)); err != nil {
			return hash, err
		}
	}
	for range back {
		c, err := s.store.commit(hash)
		if err != nil {
			return hash, err
		}
		if len(c.ParentHashes) == 0 {
			return hash, fmt.Errorf("%w: %s is the first", ErrUnknownCommit, hash)
		}
		hash = c.ParentHashes[0]
	}
	return hash, nil
}

// stepsBack cuts what begins with ~ or ^ off a name and counts the steps.
func stepsBack(name string) (string, int, error) {
	at := strings.IndexAny(name, "~^")
	if at < 0 {
		return name, 0, nil
	}
	steps := 0
	for rest := name[at:]; rest != ""; {
		sign := rest[0]
		rest = rest[1:]
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n := 1
		if digits > 0 {
			var err error
			if n, err = strconv.Atoi(rest[:digits]); err != nil {
				return name, 0, fmt.Errorf("%q goes too far back", name)
			}
		}
		rest = rest[digits:]
		if sign == '^' && digits > 0 || sign != '~' && sign != '^' || n > maxWalked {
			return name, 0, fmt.Errorf("%q is no commit: write NAME~N for the Nth before it", name)
		}
		steps += n
	}
	return name[:at], steps, nil
}

// resolve returns the commit that a name of 7 to 40 hexadecimal digits stands for.
func (s *store) resolve(name string) (plumbing.Hash, error) {
	digits := strings.Trim(name, "0123456789abcdef") == ""
	if len(name) < minAbbreviated || len(name) > 40 || !digits {
		return plumbing.ZeroHash, fmt.Errorf("%q is no commit: write 7 to 40 hexadecimal digits, HEAD, or the branch's name", name)
	}
	if len(name) == 40 {
		hash := plumbing.NewHash(name)
		if !s.has(hash) {
			return hash, ErrUnknownCommit
		}
		return hash, nil
	}
	prefix, err := hex.DecodeString(name[:len(name)&^1])
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var all, found []plumbing.Hash
	err = s.guard(plumbing.ZeroHash, func() (err error) {
		all, err = s.stores[0].HashesWithPrefix(prefix)
		return err
	})
	if err != nil {
		return plumbing.ZeroHash, inStore(err)
	}
	for _, h := range all {
		if _, err := s.commit(h); err == nil && strings.HasPrefix(h.String(), name) && !slices.Contains(found, h) {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, ErrUnknownCommit
	case 1:
		return found[0], nil
	}
	return plumbing.ZeroHash, fmt.Errorf("%q stands for %d commits: write more of its digits", name, len(found))
}
