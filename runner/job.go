package runner

import (
	"context"
	"strings"

	"github.com/digitalocean/go-libvirt"
)

// jobNames are what people call libvirt's background jobs, by virDomainJobOperation.
// To start is what the agent does.
var jobNames = []string{"", "", "save", "restore", "migration in", "migration out", "snapshot", "snapshot revert", "dump", "backup", "snapshot delete"}

// job names the background job that somebody has begun at a running domain, empty when there is none. Libvirt knows
// without asking QEMU whether there is one. Copies of single disks are no such jobs; the live XML shows them.
func (o *observation) job(ctx context.Context, d libvirt.Domain, liveXML string) (string, error) {
	state, err := readOf(ctx, o.r, d.UUID, func(lv *libvirt.Libvirt) (libvirt.DomainControlState, error) {
		state, _, _, err := lv.DomainGetControlInfo(d, 0)
		return libvirt.DomainControlState(state), err
	})
	switch c := code(err); {
	case c != libvirt.ErrOk:
		return "", nil // it has gone down meanwhile, or its driver has no such call
	case err != nil:
		return "", err
	case state == libvirt.DomainControlJob:
		return o.jobName(ctx, d), nil
	case o.backedUp(ctx, d):
		return "backup", nil
	case strings.Contains(liveXML, "<mirror "):
		return "block copy", nil
	}
	return "", nil
}

// backedUp says whether somebody is making a backup: while the disks are pulled, libvirt calls that no job of its own.
func (o *observation) backedUp(ctx context.Context, d libvirt.Domain) bool {
	_, err := readOf(ctx, o.r, d.UUID, func(lv *libvirt.Libvirt) (string, error) { return lv.DomainBackupGetXMLDesc(d, 0) })
	return err == nil // there is none, or libvirt is older than backups (6.0)
}

// jobName says what a background job is.
func (o *observation) jobName(ctx context.Context, d libvirt.Domain) string {
	params, err := readOf(ctx, o.r, d.UUID, func(lv *libvirt.Libvirt) ([]libvirt.TypedParam, error) {
		_, params, err := lv.DomainGetJobStats(d, 0)
		return params, err
	})
	if err != nil {
		o.r.log.Warn("cannot learn what job a domain is at", "domain", d.Name, "error", err)
		return "background job"
	}
	for _, p := range params {
		if n, ok := p.Value.I.(int32); ok && p.Field == "operation" && n > 0 && int(n) < len(jobNames) {
			return jobNames[n]
		}
	}
	return "" // it is about to begin or to end, as when a domain starts
}
