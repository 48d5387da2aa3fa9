package manifest

import "strings"

// Supported lists the fields of a template's spec (InstanceSpec) that rendering knows, as paths with [] for a list's
// items. A row covers what is below it; KubeVirt's fields are listed leaf by leaf, so that a leaf which a newer KubeVirt
// adds is not accepted in silence. Every other field of KubeVirt's is an error that names it.
func Supported() []string {
	return []string{
		"terminationGracePeriodSeconds",
		"domain.cpu.sockets",
		"domain.cpu.cores",
		"domain.cpu.threads",
		"domain.cpu.model",
		"domain.memory.guest",
		"domain.machine.type",
		"domain.firmware.uuid",
		"domain.firmware.bootloader.bios.useSerial",
		"domain.firmware.bootloader.efi.secureBoot",
		"domain.features.acpi.enabled",
		"domain.features.apic.enabled",
		"domain.features.apic.endOfInterrupt",
		"domain.features.hyperv.evmcs.enabled",
		"domain.features.hyperv.frequencies.enabled",
		"domain.features.hyperv.ipi.enabled",
		"domain.features.hyperv.reenlightenment.enabled",
		"domain.features.hyperv.relaxed.enabled",
		"domain.features.hyperv.reset.enabled",
		"domain.features.hyperv.runtime.enabled",
		"domain.features.hyperv.spinlocks.enabled",
		"domain.features.hyperv.spinlocks.spinlocks",
		"domain.features.hyperv.synic.enabled",
		"domain.features.hyperv.synictimer.direct.enabled",
		"domain.features.hyperv.synictimer.enabled",
		"domain.features.hyperv.tlbflush.enabled",
		"domain.features.hyperv.vapic.enabled",
		"domain.features.hyperv.vendorid.enabled",
		"domain.features.hyperv.vendorid.vendorid",
		"domain.features.hyperv.vpindex.enabled",
		"domain.features.hypervPassthrough.enabled",
		"domain.features.kvm.hidden",
		"domain.features.pvspinlock.enabled",
		"domain.features.smm.enabled",
		"domain.devices.disks[].name",
		"domain.devices.disks[].disk.bus",
		"domain.devices.disks[].disk.readonly",
		"domain.devices.disks[].cdrom.bus",
		"domain.devices.disks[].cdrom.readonly",
		"domain.devices.disks[].bootOrder",
		"domain.devices.disks[].serial",
		"domain.devices.disks[].cache",
		"domain.devices.interfaces[].addresses",
		"domain.devices.interfaces[].name",
		"domain.devices.interfaces[].model",
		"domain.devices.interfaces[].macAddress",
		"domain.devices.interfaces[].bridge",
		"domain.devices.interfaces[].masquerade",
		"domain.devices.interfaces[].bootOrder",
		"domain.devices.rng",
		// Our own types: they hold only what is supported.
		"networks",
		"volumes",
		"domainXML",
		"domainXMLFrom",
	}
}

// Ignored lists the fields of a template's spec that are read and have no effect, with why. What is below them is not
// looked at.
func Ignored() map[string]string {
	const placed = "has no effect: the host is chosen by the RunState"
	return map[string]string{
		"affinity":                  placed,
		"evictionStrategy":          "has no effect: there is no cluster that could evict the machine",
		"hostname":                  "has no effect: say it in the user data of cloudInitNoCloud",
		"nodeSelector":              placed,
		"tolerations":               placed,
		"topologySpreadConstraints": placed,
	}
}

// instead says what to write in place of a field of KubeVirt's that only a cluster can obey.
func instead() map[string]string {
	const placed = "the host is chosen by spec.host of the RunState"
	return map[string]string{
		"priorityClassName": placed,
		"schedulerName":     placed,
		"subdomain":         "say it in the user data of cloudInitNoCloud",
		"accessCredentials": "say it in the user data of cloudInitNoCloud",
		"dnsConfig":         "say it in the network data of cloudInitNoCloud",
		"dnsPolicy":         "say it in the network data of cloudInitNoCloud",
		"startStrategy":     "say state: Paused in the RunState",
		"domain.resources":  "say domain.memory.guest and domain.cpu",
	}
}

// support answers for paths what Supported and instead say.
type support struct {
	rows    []string
	instead map[string]string
	foreign bool // the document is one of KubeVirt's
}

// ignores says why a path has no effect; empty when it has one, or may not be said at all.
func (s support) ignores(path string) string {
	if s.foreign && (path == "nodeSelector" || path == "startStrategy") {
		return "" // what they say goes into a run state
	}
	return Ignored()[path]
}

// covers says whether a path is in the table: above a row, at it, or below it.
func (s support) covers(path string) bool {
	if s.foreign && (path == "nodeSelector" || path == "startStrategy") {
		return true
	}
	for _, row := range s.rows {
		if row == path || below(row, path) || below(path, row) {
			return true
		}
	}
	return false
}

// refusal is the message for a path that is not covered.
func (s support) refusal(path string) string {
	if do := s.instead[path]; do != "" {
		return "is not supported; " + do
	}
	if below(path, "domain") {
		return "is not supported yet; say it in domainXML"
	}
	return "is not supported yet; take it out"
}

// below says whether path lies under parent.
func below(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}
