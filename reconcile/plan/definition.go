package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// definition is what the inactive XML has to become.
type definition struct {
	// next is the XML to define; nil when the inactive XML has all that is declared.
	next *domxml.Element
	// meta is the record as it is, or as it is to be once next is defined.
	meta    metadata.Metadata
	changes []Change
	// reason and message say why next is to be defined.
	reason, message string
	// recordOnly says that next is what is there but for the record.
	recordOnly bool
	// stale are volumes that no definition needs any more once the domain is off.
	stale []render.Volume
}

// record is what a definition of the instance says about itself, the run left out.
func record(i *render.Instance, slots domxml.Slots) metadata.Metadata {
	m := metadata.Metadata{
		Config: i.Config, Revision: i.Revision, Digest: i.Digest, Flavour: i.Flavour,
		DeletionPolicy: string(i.DeletionPolicy), GraceSeconds: i.GraceSeconds,
		Slots: slots, Applied: metadata.Pack(i.Domain), Secrets: secretsOf(i),
		Volumes: volumesOf(slices.Concat(i.Volumes, i.TemporaryVolumes)),
	}
	return m
}

// volumesOf are the volumes as a record has them: those that are the domain's alone.
func volumesOf(volumes []render.Volume) []metadata.Volume {
	var list []metadata.Volume
	for _, v := range volumes {
		if v.Made() && !v.OfHost() && v.Kind != render.VolumeFetched {
			list = append(list, metadata.Volume{Name: v.Name, Pool: v.Pool, File: v.File, Size: v.Size, Keep: v.Persistent(), Image: imageOf(v)})
		}
	}
	return list
}

// creation is the first definition of an instance.
func creation(i *render.Instance) (*domxml.Element, metadata.Metadata) {
	xml, slots := domxml.Create(i.Domain)
	return xml, record(i, slots)
}

// uid is one for each run. The time, and the uid before, tell apart two runs of one number.
func uid(domain string, run int64, before string, now time.Time) string {
	space, err := uuid.Parse(domain)
	if err != nil {
		space = uuid.NameSpaceOID
	}
	return uuid.NewSHA1(space, fmt.Appendf(nil, "%d %s %d", run, before, now.UnixNano())).String()
}

// define compares the declared with the inactive XML and, when it runs, with the live XML.
func (a *Assessment) define(mem Memory) (definition, error) {
	i, d := a.Instance, a.Domain
	var m metadata.Metadata
	if d.Meta() != nil {
		m = *d.Meta()
	}
	a.immutable()
	temporary := temporaryOf(i)
	before := mem.Memos[i.Name]
	if before != nil && before.InSync && before.Digest == i.Digest && before.Inactive == d.Inactive.Hash && before.Live == d.Live.Hash && before.Temporary == temporary {
		a.Memo, a.behind = before, before.Behind
		a.unkept()
		a.checkSizes(m)
		a.checkImages(m)
		a.cannot(before.Cannot)
		return definition{meta: m, stale: a.stale(m)}, nil
	}
	want, err := a.declared(m)
	if err != nil {
		return definition{}, err
	}
	var live *domxml.Element
	if d.Active() {
		if live, err = domxml.Parse(d.Live.Text()); err != nil {
			return definition{}, fmt.Errorf("cannot read the live XML that libvirt gives of it: %w", err)
		}
	}
	m, seen := a.seenImages(live, m)
	memo := &Memo{Digest: i.Digest, Inactive: d.Inactive.Hash, Live: d.Live.Hash, Temporary: temporary}
	def, have, err := a.compareInactive(memo, want, live, m)
	if err != nil {
		return def, err
	}
	a.checkSizes(m)
	a.checkImages(m)
	a.cannot(memo.Cannot)
	if def.next != nil && m.Digest == i.Digest {
		def.changes = a.drift(def.changes, before, memo, mem)
		if len(def.changes) == 0 {
			def.next = nil
		}
	}
	if def.next == nil {
		def.meta = m
		memo.InSync = !seen
		a.Memo = memo
		if seen && d.Persistent {
			a.recordImages(m)
		}
		a.unkept()
	} else {
		have = def.next
	}
	if live != nil {
		a.compareLive(memo, want, live, have, def.meta)
		a.behind = memo.Behind
	}
	return def, nil
}

// temporaryOf tells one set of temporary devices from another.
func temporaryOf(i *render.Instance) string {
	text := ""
	for _, d := range i.Temporary {
		text += d.String()
	}
	return text
}

// compareInactive finds the next definition, nil when there is nothing to write, and returns the one that there is. live is
// nil for a domain that does not run.
func (a *Assessment) compareInactive(memo *Memo, want, live *domxml.Element, m metadata.Metadata) (definition, *domxml.Element, error) {
	i, d := a.Instance, a.Domain
	have, err := defined(d)
	if err != nil {
		return definition{}, nil, err
	}
	memo.Cannot = keepMachine(want, have)
	was, err := metadata.Unpack(m.Applied)
	if err != nil {
		was = nil // somebody edited our record: nothing is removed that is not known to be ours
	}
	next, changes, slots := domxml.Redefine(have, want, was, m.Slots, live)
	def := definition{meta: m, stale: a.stale(m), changes: fields(changes)}
	switch {
	case d.Meta() == nil:
		def.reason, def.message = "Adopt", "its RunState says adopt: true"
	case !d.Persistent:
		def.reason, def.message = "Undefined", "somebody undefined it while it runs"
	case m.Digest != i.Digest:
		def.reason, def.message = "Edited", "its definition changed"
	case len(changes) > 0:
		def.reason, def.message = "Drift", a.byHand("it")
	default:
		return def, have, nil
	}
	if len(changes) == 0 && m.Digest != i.Digest {
		def.changes = append(def.changes, sizeChanges(m, i)...)
	}
	def.changes = append(def.changes, imageChanges(m, i)...)
	def.changes = append(def.changes, secretChanges(m, i)...)
	def.next = next
	def.recordOnly = d.Meta() == nil && d.Persistent && len(changes) == 0 && next.String() == have.String()
	def.meta = record(i, kept(i, d, next, live, slots))
	if def.meta.Unnamed = a.unnamed; len(a.unnamed) > 0 {
		def.meta.Applied = metadata.Pack(domxml.Unname(i.Domain, a.unnamed))
	}
	def.meta.Run, def.meta.UID, def.meta.Outcome, def.meta.Paused, def.meta.Drift = m.Run, m.UID, m.Outcome, m.Paused, m.Drift
	def.meta.Started, def.meta.Good, def.meta.Failed = m.Started, m.Good, m.Failed
	a.keepSizes(m, &def.meta)
	keepFirst(m, &def.meta)
	for n, c := range def.changes {
		def.changes[n] = a.named(c)
	}
	def.message += seedWords(def.changes)
	keepImages(m, &def.meta)
	if d.Active() {
		def.keepStale(d)
	}
	return def, have, nil
}

// drift is what of the changes is new since the definition was last in sync. What differs just after this agent has
// defined it is what libvirt does not keep as it was declared: to define it again would change nothing.
func (a *Assessment) drift(changes []Change, before, memo *Memo, mem Memory) []Change {
	i := a.Instance
	if before != nil && before.Digest == i.Digest {
		memo.Unkept = before.Unkept
		return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return slices.Contains(before.Unkept, c) })
	}
	if mem.Defined[i.Name] == i.Digest {
		memo.Unkept = changes
		return nil
	}
	return changes
}

func (a *Assessment) unkept() {
	for _, c := range a.Memo.Unkept {
		a.note("NotKept", fmt.Sprintf("libvirt does not keep %s as it is declared: it has %q for %q", c.Path, c.From, c.To))
	}
}
