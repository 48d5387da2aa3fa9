package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing"
)

// Tags say that the newest of the tags that match is followed instead of a branch.
type Tags struct {
	// Pattern is what the names of tags must match, as path.Match does it: a * stands for anything but a slash.
	// Empty: no tags are followed.
	Pattern string
	// Semver says which versions may be taken, by the rules of github.com/Masterminds/semver: ">=1.2 <2", say. A
	// tag's version is its name behind the pattern's fixed beginning, with or without a v; tags without one are left
	// aside, and so are pre-releases unless a version in Semver has one too. The newest is the highest by semantic
	// versioning. Without Semver it is the highest when numbers within the names count as numbers, as
	// git tag --sort=-version:refname has it: v1.10 is above v1.9, and v1.0-rc1 above v1.0.
	Semver string
}

// Validate says what is wrong with the options, in the words of the agent's file.
func (t Tags) Validate() error {
	_, err := newFollowed(DefaultBranch, t)
	return err
}

// Match says whether a reference, by its full name, is one of the tags by its name.
func (t Tags) Match(ref string) bool {
	name, is := strings.CutPrefix(ref, tagFolder)
	matches, err := path.Match(t.Pattern, name)
	return is && matches && err == nil
}

func (t Tags) String() string { return strings.TrimSpace("tags " + t.Pattern + " " + t.Semver) }

// ErrNoTag means that the remote answered and has no tag that matches.
var ErrNoTag = errors.New("the repository has no such tag")

// tagBranch is the branch of our store that stands at the tag's commit, for people who look into it with git.
const tagBranch = "followed-tag"

const tagFolder = "refs/tags/"

// followed is the reference that is followed: a branch, or the newest of some tags.
type followed struct {
	branch   plumbing.ReferenceName // empty: tags
	pattern  string
	versions *semver.Constraints // nil: any
	// picked is the reference that was found last. It is for the call that has the turn.
	picked plumbing.ReferenceName
}

func newFollowed(branch string, tags Tags) (*followed, error) {
	if tags.Pattern == "" {
		if tags.Semver != "" {
			return nil, errors.New("ref.semver is set and ref.tagPattern is not: say which tags are versions, v* for example")
		}
		return &followed{branch: plumbing.NewBranchReferenceName(branch)}, nil
	}
	f := &followed{pattern: tags.Pattern}
	if _, err := path.Match(tags.Pattern, ""); err != nil || strings.ContainsAny(tags.Pattern, " \t\n") {
		return nil, fmt.Errorf("ref.tagPattern %q is no pattern: write v* for example", tags.Pattern)
	}
	if tags.Semver != "" {
		var err error
		if f.versions, err = semver.NewConstraint(tags.Semver); err != nil {
			return nil, fmt.Errorf("ref.semver %q is no range of versions: write \">=1.2 <2\" for example: %w", tags.Semver, err)
		}
	}
	return f, nil
}

// fixed is the pattern's beginning without wildcards.
func (f *followed) fixed() string {
	if at := strings.IndexAny(f.pattern, `*?[\`); at >= 0 {
		return f.pattern[:at]
	}
	return f.pattern
}

// prefix is what a server is asked for.
func (f *followed) prefix() string {
	if f.branch != "" {
		return f.branch.String()
	}
	return tagFolder + f.fixed()
}

// place is a reference in the folder where changes are looked for.
func (f *followed) place() plumbing.ReferenceName {
	if f.branch != "" {
		return f.branch
	}
	return plumbing.ReferenceName(f.prefix() + "x")
}

// tag is the name of the tag that was picked last; empty for a branch.
func (f *followed) tag() string {
	if f.branch != "" {
		return ""
	}
	return strings.TrimPrefix(f.picked.String(), tagFolder)
}

// pick returns what the reference stands for that is followed, among those that a repository has.
func (f *followed) pick(refs map[string]plumbing.Hash) (plumbing.Hash, error) {
	if f.branch != "" {
		head, ok := refs[f.branch.String()]
		if !ok {
			return head, ErrBranchGone
		}
		return head, nil
	}
	best := ""
	for name := range refs {
		tag, ok := strings.CutPrefix(name, tagFolder)
		if ok && f.matches(tag) && (best == "" || f.compare(tag, best) > 0) {
			best = tag
		}
	}
	if best == "" {
		return plumbing.ZeroHash, fmt.Errorf("%w: %s", ErrNoTag, f.pattern)
	}
	f.picked = plumbing.ReferenceName(tagFolder + best)
	return refs[f.picked.String()], nil
}

func (f *followed) matches(tag string) bool {
	if ok, err := path.Match(f.pattern, tag); !ok || err != nil || plumbing.ReferenceName(tagFolder+tag).Validate() != nil {
		return false
	}
	if f.versions == nil {
		return true
	}
	v := f.version(tag)
	return v != nil && f.versions.Check(v)
}

func (f *followed) version(tag string) *semver.Version {
	begin := strings.TrimSuffix(f.fixed(), "v")
	v, err := semver.NewVersion(strings.TrimPrefix(tag, begin))
	if err != nil {
		return nil
	}
	return v
}

// compare orders tags: by their versions if these are asked for, then by the numbers in their names.
func (f *followed) compare(a, b string) int {
	if f.versions != nil {
		if va, vb := f.version(a), f.version(b); va != nil && vb != nil {
			if c := va.Compare(vb); c != 0 {
				return c
			}
		}
	}
	return cmp.Or(compareNatural(a, b), strings.Compare(a, b))
}

// compareNatural compares strings in which runs of digits are numbers of any length.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// kind is what an object is.
func (o *objects) kind(hash plumbing.Hash) (kind plumbing.ObjectType, err error) {
	err = o.guard(hash, func() error {
		obj, err := o.find(plumbing.AnyObject, hash)
		if err == nil {
			kind = obj.Type()
		}
		return err
	})
	if err != nil {
		return kind, fmt.Errorf("%w: cannot read object %s: %w", ErrIncomplete, hash, err)
	}
	return kind, nil
}

// peel returns the commit that a reference stands for: itself, or what a tag object names.
func (o *objects) peel(ref plumbing.Hash) (plumbing.Hash, error) {
	kind, err := o.kind(ref)
	if err != nil || kind == plumbing.CommitObject {
		return ref, err
	}
	if kind == plumbing.TagObject {
		raw, err := o.read(plumbing.TagObject, ref)
		if err != nil {
			return ref, err
		}
		var object, typ string
		if _, err := fmt.Sscanf(string(raw), "object %40s\ntype %s\n", &object, &typ); err == nil && typ == "commit" && plumbing.IsHash(object) {
			return plumbing.NewHash(object), nil
		}
	}
	return ref, fmt.Errorf("object %s, which the followed reference stands for, is neither a commit nor a tag of one", ref)
}

// copyRef copies what a reference stands for, with all that it leads to.
func (s *store) copyRef(ctx context.Context, from *objects, shallow map[plumbing.Hash]bool, ref plumbing.Hash) error {
	commit, err := from.peel(ref)
	if err != nil {
		return err
	}
	if err := s.copyFrom(ctx, from, shallow, commit); err != nil || commit == ref || s.has(ref) {
		return err
	}
	c := &copier{ctx: ctx, to: s, from: from}
	return c.loose(queued{plumbing.TagObject, ref})
}

// mark says of a snapshot which tag it is of, and, of another tag than before, that it need not follow from that.
func (s *Source) mark(snap *Snapshot, tag string, object plumbing.Hash) {
	if tag == "" {
		return
	}
	snap.Branch, snap.tag = "tags/"+tag, tag
	if object.String() != snap.Commit {
		snap.tagObject = object.String()
	}
	was := s.rec
	snap.Forced = was.Tag != "" && was.Commit != snap.Commit && s.follow.compare(tag, was.Tag) <= 0
}

// readFollowed is what the followed reference of a repository on this machine stands for.
func readFollowed(dir string, f *followed) (plumbing.Hash, error) {
	if f.branch != "" {
		return readRef(dir, f.branch)
	}
	refs, err := localTags(dir)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return f.pick(refs)
}
