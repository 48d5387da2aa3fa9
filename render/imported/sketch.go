package imported

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// sketch is a template's spec that is being made of a definition.
type sketch struct {
	machine string // its name
	// have is the definition. The devices that the spec says come by their names in it.
	have *domxml.Element
	host Host
	// left are the parts that libvirt's language has to say, each with the reason, and unsaid the disks and interfaces of them.
	left   map[string]string
	unsaid []Left
	// domain and devices are objects of the spec.
	domain, devices map[string]any
	networks        []any
	volumes         []any
	// Of each item of a list, the part that it is.
	disks, interfaces, inputs, volumesOf []string
	names                                map[string]bool
	// parts are those of devices by what identifies them in libvirt's words.
	parts map[string]string
}

func newSketch(machine string, have *domxml.Element, h Host, left map[string]string) *sketch {
	return &sketch{machine: machine, have: have.Clone(), host: h, left: left, domain: map[string]any{}, devices: map[string]any{}, names: map[string]bool{}, parts: map[string]string{}}
}

// tree is the spec.
func (s *sketch) tree() manifest.Tree {
	s.memory()
	s.cpu()
	s.firmware()
	s.features()
	s.clock()
	if all := s.have.Child("devices"); all != nil {
		s.addDisks(all)
		s.addInterfaces(all)
		s.addInputs(all)
	}
	s.consoles()
	s.single()
	s.domain["devices"] = s.devices
	spec := manifest.Tree{"domain": s.domain}
	if len(s.networks) > 0 {
		spec["networks"] = s.networks
	}
	if len(s.volumes) > 0 {
		spec["volumes"] = s.volumes
	}
	return spec
}

// says says whether a part may be said in the template's words.
func (s *sketch) says(part string) bool { return s.left[part] == "" }

// leave leaves a part to libvirt's language, and says whether it was not left before.
func (s *sketch) leave(part, why string) bool {
	if part == "" || !s.says(part) {
		return false
	}
	s.left[part] = why
	return true
}

// cannot says that libvirt's language has to say a disk or an interface.
func (s *sketch) cannot(kind, name, why string) { s.unsaid = append(s.unsaid, Left{kind, name, why}) }

var item = regexp.MustCompile(`(disks|interfaces|inputs|volumes|networks)\[(\d+)\]`)

// blame leaves out what problems speak of; false when that is not known.
func (s *sketch) blame(problems []manifest.Problem) bool {
	done := false
	for _, p := range problems {
		done = s.leave(s.partOfField(p.Field), "the template: "+cmp.Or(p.Message, "refused")) || done
	}
	return done
}

func (s *sketch) partOfField(field string) string {
	if m := item.FindStringSubmatch(field); m != nil {
		n, err := strconv.Atoi(m[2])
		list := map[string][]string{"disks": s.disks, "interfaces": s.interfaces, "inputs": s.inputs, "volumes": s.volumesOf, "networks": s.interfaces}[m[1]]
		if err == nil && n < len(list) {
			return list[n]
		}
	}
	if strings.Contains(field, "domain.memory.hugepages") {
		return "hugepages"
	}
	for _, part := range []string{"memory", "cpu", "features", "clock", "firmware", "machine"} {
		if strings.Contains(field, "domain."+part) {
			return part
		}
	}
	_, device, ok := strings.Cut(field, "domain.devices.")
	if !ok {
		return ""
	}
	device, _, _ = strings.Cut(device, ".")
	device, _, _ = strings.Cut(device, "[")
	return device
}

// blameChanges leaves out what changes come from; false when there are none that are known.
func (s *sketch) blameChanges(changes []domxml.Change) bool {
	done := false
	for _, c := range changes {
		done = s.leave(s.partOfPath(c.Path), "the template has another "+plainPath(c.Path)) || done
	}
	return done
}

// plainPath is a path without the names of devices.
func plainPath(path string) string { return bracketed.ReplaceAllString(path, "") }

var bracketed = regexp.MustCompile(`\[[^]]*\]`)

// devicePath is a device's path, with what it is called.
var devicePath = regexp.MustCompile(`^devices/([a-z]+)(?:\[([^]]*)\])?`)

func (s *sketch) partOfPath(path string) string {
	if strings.HasPrefix(path, "features/smm") && s.have.Child("features/smm") == nil {
		return "firmware" // a bootloader brings it along
	}
	if strings.HasPrefix(path, "memoryBacking") {
		return "hugepages"
	}
	m := devicePath.FindStringSubmatch(path)
	if m == nil {
		top, _, _ := strings.Cut(strings.ReplaceAll(path, "@", "/"), "/")
		return map[string]string{
			"memory": "memory", "currentMemory": "memory", "vcpu": "cpu", "cpu": "cpu", "features": "features",
			"clock": "clock", "os": "firmware", "sysinfo": "firmware",
		}[top]
	}
	switch kind, name := m[1], m[2]; kind {
	case "disk", "interface", "input":
		if part := s.parts[kind+"/"+name]; part != "" {
			return part
		}
		return kind + "/" + name
	case "controller":
		return s.onSCSI()
	case "serial", "console":
		return "autoattachSerialConsole"
	case "channel":
		return "autoattachGuestAgent"
	case "memballoon":
		return "autoattachMemBalloon"
	case "panic":
		return "panicDevices"
	case "graphics", "video":
		return "autoattachGraphicsDevice"
	default:
		return kind
	}
}

// onSCSI is the next disk that has a SCSI controller rendered.
func (s *sketch) onSCSI() string {
	for n, d := range s.devicesOf("disks") {
		for _, kind := range []string{"disk", "cdrom", "lun"} {
			if target, ok := d[kind].(map[string]any); ok && (target["bus"] == "scsi" || kind == "lun") && n < len(s.disks) {
				return s.disks[n]
			}
		}
	}
	return ""
}

func (s *sketch) devicesOf(list string) []map[string]any {
	var out []map[string]any
	items, _ := s.devices[list].([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// name is a name for a device that no other has: the one that it carries, or else this one.
func (s *sketch) name(d *domxml.Element, otherwise string) (string, bool) {
	name := d.UserAlias()
	if name == "" {
		if d.Child("alias") != nil {
			return "", false
		}
		name = strings.ToLower(otherwise)
		for n := 2; s.names[name] || s.carried(name); n++ {
			name = fmt.Sprintf("%s-%d", strings.ToLower(otherwise), n)
		}
	}
	if !labelForm.MatchString(name) || s.names[name] {
		return "", false
	}
	s.names[name] = true
	return name, true
}

// call gives a device its name, so that what is rendered of it is known to be it.
func call(d *domxml.Element, name string) {
	if d.Child("alias") == nil {
		d.Append(domxml.New("alias", "name", "ua-"+name))
	}
}

// carried says whether a device carries a name already.
func (s *sketch) carried(name string) bool {
	devices := s.have.Child("devices")
	return devices != nil && slices.ContainsFunc(devices.Children, func(d *domxml.Element) bool { return d.UserAlias() == name })
}

func textOf(e *domxml.Element, path string) string {
	if c := e.Child(path); c != nil {
		return c.Text
	}
	return ""
}

// put sets a field when there is a value.
func put(m map[string]any, field, value string) {
	if value != "" {
		m[field] = value
	}
}

// unless sets a field when there is a value that is not the default.
func unless(m map[string]any, field, value, usual string) {
	if value != usual {
		put(m, field, value)
	}
}

// known sets a field when the template has this value and it is not the default: the others are domainXML's to say.
func known(m map[string]any, field, value string, values ...string) {
	if slices.Contains(values, value) {
		m[field] = value
	}
}

// number reads a decimal number.
func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0
}
