// Package policy says what documents may have of a host, by the agent's own file, which outranks the repository. Who can
// write to the repository gets machines, not the host: what reaches out of a guest is refused unless that file allows it,
// and so is everything that this package does not know. It decides by the finished domain, so that it does not matter
// whether something was said in a config, a preset, a flavour, a manifest of KubeVirt's or in libvirt's own language.
package policy
