package runner

import (
	"context"
	"errors"
	"strings"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// define writes the inactive XML in place, whether the domain runs or not. Libvirt checks it against its schema:
// without that it drops what it does not know, and says nothing. It refuses by itself to define over a domain of
// the same name and another UUID.
func (r *Runner) define(ctx context.Context, s plan.Step) error {
	text, err := r.reveal(s.XML)
	if err != nil {
		return err
	}
	leave, err := r.suspicion.enter(ctx, s.UUID, s.XML)
	if err != nil {
		return err
	}
	before := r.endpoint.lookAt(s.Domain, true, false)
	err = r.change(ctx, change{step: s, limit: r.opts.Deadlines.Start,
		f: func(lv *libvirt.Libvirt, _ libvirt.Domain) error {
			_, err := lv.DomainDefineXMLFlags(text, libvirt.DomainDefineValidate)
			return err
		}})
	leave(err)
	if err != nil {
		return refused(err)
	}
	r.checkFolder(s.Domain, before)
	return nil
}

// checkFolder stops trusting libvirt's files when a define has not moved the domain's: they are those of another
// libvirt then, as when the daemon runs in a container.
func (r *Runner) checkFolder(name string, before domainFiles) {
	if !r.endpoint.hasFolders() {
		return
	}
	after := r.endpoint.lookAt(name, true, false)
	before.config.settled = true
	if (!after.known || before.same(after)) && r.cache.distrust() {
		r.log.Warn("libvirt does not keep its domains where it was looked for, so all XML is read each time",
			"folder", r.endpoint.configDir)
	}
}

// setMetadata writes the record into the inactive XML, the live XML, or both at once.
func (r *Runner) setMetadata(ctx context.Context, s plan.Step) error {
	if s.Metadata == nil || !s.Config && !s.Live {
		return errors.New("the step says neither what nor where")
	}
	var impact libvirt.DomainModificationImpact
	if s.Config {
		impact |= libvirt.DomainAffectConfig
	}
	if s.Live {
		impact |= libvirt.DomainAffectLive
	}
	// Libvirt keeps the white space: indented as in a definition, the same record is the same bytes, whichever way it came.
	element := strings.ReplaceAll(strings.TrimSpace(unqualified(s.Metadata.Element()).String()), "\n", "\n    ")
	return r.change(ctx, change{step: s, limit: r.opts.Deadlines.Change,
		f: func(lv *libvirt.Libvirt, d libvirt.Domain) error {
			return lv.DomainSetMetadata(d, int32(libvirt.DomainMetadataElement), libvirt.OptString{element},
				libvirt.OptString{metadata.Prefix}, libvirt.OptString{metadata.Namespace}, impact)
		}})
}

// unqualified is an element without its namespace. Libvirt puts the namespace and the prefix on each element itself, and
// refuses one that has them: "failed to create a new XML namespace".
func unqualified(e *domxml.Element) *domxml.Element {
	e = e.Clone()
	var strip func(*domxml.Element)
	strip = func(e *domxml.Element) {
		e.Name = strings.TrimPrefix(e.Name, metadata.Prefix+":")
		e.RemoveAttr("xmlns:" + metadata.Prefix)
		for _, c := range e.Children {
			strip(c)
		}
	}
	strip(e)
	return e
}

// setAutostart marks a domain to start with the host, or not.
func (r *Runner) setAutostart(ctx context.Context, s plan.Step) error {
	var on int32
	if s.On {
		on = 1
	}
	return r.change(ctx, change{step: s, limit: r.opts.Deadlines.Change,
		f: func(lv *libvirt.Libvirt, d libvirt.Domain) error { return lv.DomainSetAutostart(d, on) }})
}

// undefineFlags are tried in this order, because an older daemon, or another driver, refuses flags that it does not
// know. Without them libvirt refuses to undefine a domain that has a saved state, snapshots, checkpoints or NVRAM.
// NVRAM and TPM state are kept: they hold what cannot be made again.
var undefineFlags = []libvirt.DomainUndefineFlagsValues{
	undefineSince80 | libvirt.DomainUndefineKeepTpm,
	undefineSince80,
	undefineSince80 &^ libvirt.DomainUndefineCheckpointsMetadata,
	libvirt.DomainUndefineManagedSave | libvirt.DomainUndefineSnapshotsMetadata,
}

const undefineSince80 = libvirt.DomainUndefineManagedSave | libvirt.DomainUndefineSnapshotsMetadata |
	libvirt.DomainUndefineKeepNvram | libvirt.DomainUndefineCheckpointsMetadata

// undefine removes an inactive domain's definition. One that runs is refused: libvirt would let it run on, as a
// transient one that nobody owns.
func (r *Runner) undefine(ctx context.Context, s plan.Step) error {
	active, err := r.active(ctx, s)
	if err != nil {
		return err
	}
	if active {
		return ErrActive
	}
	return gone(r.change(ctx, change{step: s, limit: r.opts.Deadlines.Change,
		f: func(lv *libvirt.Libvirt, d libvirt.Domain) (err error) {
			for _, flags := range undefineFlags {
				err = lv.DomainUndefineFlags(d, flags)
				if c := code(err); c != libvirt.ErrInvalidArg && c != libvirt.ErrNoSupport && c != libvirt.ErrArgumentUnsupported {
					return err
				}
			}
			return err
		}}))
}
