package runner

import (
	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

const unknown = "unknown"

// stateNames are virsh's names of libvirt's states (virDomainState) and of the reasons for each, by their numbers.
// Libvirt's documentation has them at https://libvirt.org/html/libvirt-libvirt-domain.html.
var stateNames = map[libvirt.DomainState]struct {
	state   plan.DomainState
	reasons []string
}{
	libvirt.DomainNostate: {plan.DomainUnknown, nil},
	libvirt.DomainRunning: {plan.DomainRunning, []string{unknown, "booted", "migrated", "restored", "from snapshot",
		"unpaused", "migration canceled", "save canceled", "event wakeup", "crashed", "post-copy", "post-copy failed"}},
	libvirt.DomainBlocked: {plan.DomainBlocked, nil},
	libvirt.DomainPaused: {plan.DomainPaused, []string{unknown, "user", "migrating", "saving", "dumping", "ioerror",
		"watchdog", "from snapshot", "shutting down", "creating snapshot", "crashed", "starting up", "post-copy",
		"post-copy failed", "api error"}},
	libvirt.DomainShutdown: {plan.DomainShutdown, []string{unknown, "user"}},
	libvirt.DomainShutoff: {plan.DomainShutoff, []string{unknown, "shutdown", "destroyed", "crashed", "migrated", "saved",
		"failed", "from snapshot", "daemon"}},
	libvirt.DomainCrashed:     {plan.DomainCrashed, []string{unknown, "panicked"}},
	libvirt.DomainPmsuspended: {plan.DomainPMSuspended, nil},
}

// nameState names a state and its reason. What a newer libvirt has is "unknown".
func nameState(state, reason int32) (plan.DomainState, string) {
	names, ok := stateNames[libvirt.DomainState(state)]
	if !ok {
		return plan.DomainUnknown, unknown
	}
	if reason < 0 || int(reason) >= len(names.reasons) {
		return names.state, unknown
	}
	return names.state, names.reasons[reason]
}
