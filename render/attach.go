package render

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// attach completes the temporary devices of an instance that is complete without them: as if the config had them too. tree
// is the config's, from which i was made, and own its domainXML. Problems name fields of the run state.
func attach(in Input, o Options, i *Instance, tree manifest.Tree, own *domxml.Element) []manifest.Problem {
	a := in.RunState.Spec.Attach
	if a == nil {
		return nil
	}
	full, _ := manifest.Decode(tree) // it was decoded before
	devices := &full.Domain.Devices
	base := map[string]int{"domain.devices.disks": len(devices.Disks), "domain.devices.interfaces": len(devices.Interfaces),
		"networks": len(full.Networks), "volumes": len(full.Volumes)}
	devices.Disks = append(devices.Disks, a.Disks...)
	devices.Interfaces = append(devices.Interfaces, a.Interfaces...)
	full.Networks = append(full.Networks, a.Networks...)
	full.Volumes = append(full.Volumes, a.Volumes...)

	var problems []manifest.Problem
	add := func(list []manifest.FieldProblem) {
		for _, p := range list {
			problems = append(problems, in.RunState.Problem(attachField(p.Field, base), p.Message))
		}
	}
	add(onHost(in, full))
	fill(full, o.Fleet, i.Name)
	add(manifest.Validate(full))
	if len(problems) > 0 {
		return problems
	}
	secrets, bad, locked := findSecrets(in, o, full)
	add(bad)
	if len(problems) > 0 {
		for n := range problems {
			problems[n].Locked = locked
		}
		return problems
	}
	with := *i
	with.Spec, with.Volumes, with.found, with.Secrets = *full, nil, secrets, nil
	domain, bad := with.build(in, o, own, false)
	add(bad)
	if len(problems) > 0 {
		return problems
	}
	i.TemporaryVolumes = with.Volumes[base["volumes"]:]
	i.Secrets = with.Secrets
	i.Temporary = temporary(domain, i.Domain, a)
	return nil
}

// temporary are the devices that the run state names, and the controllers that only they need, which come first.
func temporary(domain, without *domxml.Element, a *manifest.Attach) []*domxml.Element {
	var controllers, list []*domxml.Element
	for _, d := range domain.Child("devices").Children {
		name := d.UserAlias()
		switch {
		case d.Name == "controller" && d.Attr("type") == "scsi" && domxml.Device(without, d) == nil:
			controllers = append(controllers, d)
		case name == "":
		case slices.ContainsFunc(a.Disks, func(x kubevirt.Disk) bool { return x.Name == name }),
			slices.ContainsFunc(a.Interfaces, func(x manifest.Interface) bool { return x.Name == name }):
			list = append(list, d)
		}
	}
	return append(controllers, list...)
}

var listField = regexp.MustCompile(`^(domain\.devices\.disks|domain\.devices\.interfaces|networks|volumes)\[(\d+)\]`)

// attachField is the field of the run state that a field of the spec comes from, of which the lists' first items are the
// config's.
func attachField(field string, base map[string]int) string {
	m := listField.FindStringSubmatch(field)
	if m == nil {
		return "spec.attach"
	}
	n, err := strconv.Atoi(m[2])
	if err != nil || n < base[m[1]] {
		return "spec.attach"
	}
	list := strings.TrimPrefix(m[1], "domain.devices.")
	return fmt.Sprintf("spec.attach.%s[%d]%s", list, n-base[m[1]], field[len(m[0]):])
}
