// Command compat measures how many manifests of KubeVirt's run on plain libvirt: it completes each by itself, and has a
// libvirtd of its own define the domain, with validation, and keep it as it was declared.
//
//	go run ./test/compat -host HOST.yaml DIR
//
// HOST.yaml is a Host document that says what the manifests' claims, networks and devices are. Documents of the folder that
// are no machines (instancetypes, preferences, presets, claims) are there for all of them.
package main
