package manifest

import "strings"

// Ignored lists the fields of a template's spec that are read and have no effect, with why. What is below them is not
// looked at. What a guest would run differently without is not here.
func Ignored() map[string]string {
	const (
		placed = "has no effect: the host is chosen by the RunState"
		dns    = "has no effect: a guest's name servers come from its network, or from the network data of cloudInitNoCloud"
		probe  = "has no effect: nothing restarts a guest that is not well; a watchdog in domain.devices does"
		tag    = "has no effect: only a Kubernetes cluster's cloud-init metadata has tags"
		pull   = "has no effect: an image is pulled once, with what the host's docker configuration has for its registry"
	)
	return map[string]string{
		"affinity":                  placed,
		"nodeSelector":              placed,
		"priorityClassName":         placed,
		"schedulerName":             placed,
		"tolerations":               placed,
		"topologySpreadConstraints": placed,
		"evictionStrategy":          "has no effect: nothing evicts a machine from its host",
		"hostname":                  "has no effect: say the guest's name in the user data of cloudInitNoCloud",
		"subdomain":                 "has no effect: say the guest's name in the user data of cloudInitNoCloud",
		"dnsConfig":                 dns,
		"dnsPolicy":                 dns,
		"livenessProbe":             probe,
		"domain.resources.overcommitGuestOverhead":             "has no effect: a host keeps no account of what QEMU itself needs",
		"domain.devices.disks[].tag":                           tag,
		"domain.devices.gpus[].tag":                            tag,
		"domain.devices.hostDevices[].tag":                     tag,
		"domain.devices.interfaces[].tag":                      tag,
		"domain.devices.interfaces[].ports":                    "has no effect: all ports of the guest can be reached on its network",
		"domain.devices.logSerialConsole":                      "has no effect: nothing keeps what the guest prints; virsh console shows it, and <log> in domainXML keeps it",
		"domain.firmware.kernelBoot.container.imagePullPolicy": pull,
		"domain.firmware.kernelBoot.container.imagePullSecret": pull,
	}
}

// instead says what to write in place of a field of KubeVirt's that only a cluster can obey, or that needs a word on the
// host which the field does not have.
func instead() map[string]string {
	const (
		pinning = "is not supported: it needs to know which of the host's CPUs are free; say <cputune> in domainXML"
		cluster = "is something that only a Kubernetes cluster has; take it out"
		claim   = cluster + ", and say the deviceName"
	)
	return map[string]string{
		"accessCredentials":                            "is not supported; say it in the user data of cloudInitNoCloud",
		"resourceClaims":                               cluster,
		"startStrategy":                                "is not supported; say state: Paused in the RunState",
		"domain.cpu.realtime":                          pinning,
		"domain.cpu.numa":                              "is not supported: it needs to know the host's NUMA cells; say <numatune> and <cpu><numa> in domainXML",
		"domain.firmware.acpi":                         "is not supported: its tables are secrets of a Kubernetes cluster; say <os><acpi><table type='slic'> in domainXML",
		"domain.launchSecurity":                        "is not supported: it needs a host with AMD SEV; say <launchSecurity> in domainXML",
		"domain.devices.clientPassthrough":             "is not supported: it needs SPICE; say <redirdev> and <graphics type='spice'> in domainXML",
		"domain.devices.disks[].blockSize.matchVolume": "is not supported: it needs to measure the volume; say blockSize.custom",
		"domain.devices.downwardMetrics":               cluster,
		"domain.devices.gpus[].claimName":              claim,
		"domain.devices.gpus[].requestName":            claim,
		"domain.devices.hostDevices[].claimName":       claim,
		"domain.devices.hostDevices[].requestName":     claim,
		"domain.devices.interfaces[].binding":          "is not supported: a binding plugin is something that only a Kubernetes cluster has; say bridge: {} or masquerade: {}",
		"domain.devices.interfaces[].dhcpOptions":      "is not supported: DHCP is answered by the network; say <bootp> or dnsmasq's options in the libvirt network",
		"domain.devices.interfaces[].passt":            "is not supported: it needs libvirt 9.2; say masquerade: {}, and user: {} in the network",
		"domain.devices.interfaces[].slirp":            "is not supported; say masquerade: {}, and user: {} in the network",
		"domain.devices.watchdog.diag288":              "is not supported: only s390x machines have it; say i6300esb",
	}
}

// support answers for paths what Supported, Ignored and instead say.
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
	if why := s.instead[path]; why != "" {
		return why
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
