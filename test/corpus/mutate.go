package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// verdict is what became of a mutation.
type verdict string

const (
	found   verdict = "found"   // it, and nothing else
	void    verdict = "void"    // libvirtd takes it for the same, and so does the comparison
	missed  verdict = "missed"  // nothing was found
	blurred verdict = "blurred" // other things were found, or more than it
	drifted verdict = "drifted" // libvirtd's own XML of the mutation is not told exactly from the declaration
	untrue  verdict = "untrue"  // the mutation itself, defined and read back, differs from what it declares
	absurd  verdict = "absurd"  // libvirtd does not accept the mutation, whatever the comparison says of it
)

// outcome is a mutation and its verdict.
type outcome struct {
	mutation
	verdict verdict
	changes []domxml.Change
}

// mutate tries mutations of an input that has no false difference.
func (l *lab) mutate(ctx context.Context, o options, r *result, words vocabulary) error {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(r.path)) // never fails
	chance := rand.New(rand.NewPCG(o.seed, hash.Sum64()))
	all := spots(r.want)
	chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if o.mutations > 0 && len(all) > o.mutations {
		all = all[:o.mutations]
	}
	for _, s := range all {
		m, ok := s.apply(r.want, r.have, words, chance)
		if !ok {
			continue
		}
		done, err := l.judge(ctx, r, m)
		if err != nil {
			return fmt.Errorf("%s: %s %s: %w", r.path, m.kind, m.path, err)
		}
		r.mutations = append(r.mutations, done)
	}
	return nil
}

// judge compares a mutation with what libvirtd keeps of the unmutated, and then asks libvirtd what it makes of the mutation.
func (l *lab) judge(ctx context.Context, r *result, m mutation) (outcome, error) {
	done := outcome{mutation: m, changes: domxml.Compare(m.want, r.have, r.want)}
	if m.kind == reorder {
		done.verdict = found
		if len(done.changes) > 0 {
			done.verdict = blurred
		}
		return done, nil
	}
	created, _ := domxml.Create(m.want)
	checked := r.way.checked()
	have, err := l.daemon.define(ctx, created, r.way.checked())
	died := errors.Is(err, errDied)
	if err != nil && !died && r.way.checked() {
		// It may be against the schema only, and then libvirtd says still whether it means something.
		have, err = l.daemon.define(ctx, created, false)
		died = errors.Is(err, errDied)
		checked = false
	}
	if err != nil && ctx.Err() != nil {
		return done, err
	}
	if !died {
		if err := l.daemon.clear(ctx); err != nil && !errors.Is(err, errDied) {
			return done, err
		}
	}
	same := err == nil && steady(have, m.want) == steady(r.have, m.want)
	switch {
	case len(done.changes) == 0 && same:
		done.verdict = void
	case !m.explains(done.changes) && err != nil:
		done.verdict = absurd
	case len(done.changes) == 0:
		done.verdict = missed
	case !m.explains(done.changes):
		done.verdict = blurred
	default:
		done.verdict = found
	}
	if done.verdict != found || err != nil || !checked {
		return done, nil
	}
	if untrueOnes := domxml.Compare(m.want, have, m.want); len(untrueOnes) > 0 {
		done.verdict, done.changes = untrue, untrueOnes
		return done, nil
	}
	// What somebody else makes of the domain is found as well.
	if m.kind == change {
		if drift := domxml.Compare(r.want, have, r.want); !m.explains(drift) && !oneDevice(drift) && (len(drift) > 0 || !m.stands(r.want, have)) {
			done.verdict, done.changes = drifted, drift
		}
	}
	return done, nil
}

var label = regexp.MustCompile(`\[[^\]]*\]`)

// explains says whether the changes are one, and the mutation's.
func (m mutation) explains(changes []domxml.Change) bool {
	if len(changes) != 1 {
		return false
	}
	at, path := unprefixed(label.ReplaceAllString(changes[0].Path, "")), unprefixed(m.path)
	element, _, _ := strings.Cut(path, "@")
	return at == path || at == element || strings.HasPrefix(at, element+"/") || strings.HasPrefix(at, element+"@") ||
		strings.HasPrefix(path, at+"/") && strings.Count(at, "/") > 0
}

// oneDevice says whether the changes are all in one device, or in one element at the top: libvirtd may have put another one in its place, of which more
// is different.
func oneDevice(changes []domxml.Change) bool {
	for _, c := range changes {
		if device.FindString(c.Path) == "" || device.FindString(c.Path) != device.FindString(changes[0].Path) {
			return false
		}
	}
	return len(changes) > 0
}

var device = regexp.MustCompile(`^(devices/)?[^/@\[]*(\[[^\]]*\])?`)

// unprefixed is a path without the prefixes of namespaces, which libvirtd chooses itself.
func unprefixed(path string) string { return prefix.ReplaceAllString(path, "$1") }

var prefix = regexp.MustCompile(`(^|/)[A-Za-z0-9_-]+:`)

// stands says whether what a mutation changed is there all the same, word for word: libvirtd adds some devices by itself.
func (m mutation) stands(want, have *domxml.Element) bool {
	path, _, _ := strings.Cut(m.path, "@")
	var declared *domxml.Element
	walk(want, "", func(at string, e *domxml.Element) {
		if at == path && m.changes(e) && declared == nil {
			declared = e
		}
	})
	found := false
	walk(have, "", func(at string, e *domxml.Element) {
		found = found || at == path && declared != nil && !slices.ContainsFunc(declared.Attrs, func(a domxml.Attr) bool { return plain(e.Attr(a.Name)) != plain(a.Value) })
	})
	return found
}

// plain is a number in decimal.
func plain(value string) string {
	if n, err := strconv.ParseInt(value, 0, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return value
}

// changes says whether an element is the one that has the value which is changed.
func (m mutation) changes(e *domxml.Element) bool {
	_, attr, ok := strings.Cut(m.path, "@")
	return ok && e.Attr(attr) == m.from
}

var generatedMAC = regexp.MustCompile(`52:54:00(:[0-9a-f]{2}){3}`)

// steady is a domain's XML without what libvirtd makes up anew each time.
func steady(have, want *domxml.Element) string {
	e := have.Clone()
	if want.Child("uuid") == nil {
		e.Ensure("uuid").Text = ""
	}
	if id := e.Child("genid"); id != nil && want.Child("genid") != nil && want.Child("genid").Text == "" {
		id.Text = ""
	}
	if id := e.Child("metadata"); id != nil && want.Child("metadata") == nil {
		e.Remove(id)
	}
	declared := want.String()
	return generatedMAC.ReplaceAllStringFunc(e.String(), func(mac string) string {
		if strings.Contains(declared, mac) {
			return mac
		}
		return "generated"
	})
}
