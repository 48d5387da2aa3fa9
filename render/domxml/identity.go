package domxml

import "strings"

// An identity says how elements of one name below one parent are told from another. Without a key that both have, an
// element is taken for one that has all that it says; and position is the last resort, for some.
type identity struct {
	// keys are tried in order: each is one attribute, or several joined by "+", as path@attribute below the element.
	keys []string
	// ordinal elements without a common key are paired in their order. Otherwise they are different elements.
	ordinal bool
	// whole lists are compared, and replaced, as one: their order means something, or they have no identity.
	whole bool
}

// identities of elements by their path below <domain>. Sources: libvirt's formatdomain page; a device's user alias
// comes before all of these.
var identities = map[string]identity{
	"devices/disk":       {keys: []string{"target@dev", "source@file", "source@dev", "source@pool+source@volume"}},
	"devices/interface":  {keys: []string{"mac@address"}},
	"devices/controller": {keys: []string{"@type+@index"}},
	"devices/filesystem": {keys: []string{"target@dir"}},
	"devices/channel":    {keys: []string{"target@name"}, ordinal: true},
	"devices/graphics":   {keys: []string{"@type"}},
	"devices/input":      {keys: []string{"@type+@bus", "@type"}},
	"devices/hostdev": {keys: []string{
		"source/address@domain+source/address@bus+source/address@slot+source/address@function",
		"source/vendor@id+source/product@id", "source/address@uuid", "source/adapter@name+source/address@unit",
	}},
	"devices/shmem":    {keys: []string{"@name"}},
	"devices/panic":    {keys: []string{"@model"}, ordinal: true},
	"devices/lease":    {keys: []string{"lockspace@text+key@text"}, ordinal: true},
	"devices/redirdev": {ordinal: true},
	"devices/serial":   {keys: []string{"target@port"}, ordinal: true},
	"devices/console":  {keys: []string{"target@port"}, ordinal: true},
	"devices/parallel": {keys: []string{"target@port"}, ordinal: true},

	"os/boot":                   {whole: true},
	"os/initarg":                {whole: true},
	"os/acpi/table":             {keys: []string{"@type"}, ordinal: true},
	"sysinfo/oemStrings/entry":  {whole: true},
	"sysinfo/entry":             {keys: []string{"@name"}},
	"sysinfo/bios/entry":        {keys: []string{"@name"}},
	"sysinfo/system/entry":      {keys: []string{"@name"}},
	"sysinfo/baseBoard/entry":   {keys: []string{"@name"}},
	"sysinfo/chassis/entry":     {keys: []string{"@name"}},
	"cpu/feature":               {keys: []string{"@name"}},
	"cpu/numa/cell":             {keys: []string{"@id"}, ordinal: true},
	"clock/timer":               {keys: []string{"@name"}},
	"cputune/vcpupin":           {keys: []string{"@vcpu"}},
	"cputune/iothreadpin":       {keys: []string{"@iothread"}},
	"vcpus/vcpu":                {keys: []string{"@id"}},
	"numatune/memnode":          {keys: []string{"@cellid"}},
	"iothreadids/iothread":      {keys: []string{"@id"}, ordinal: true},
	"seclabel":                  {keys: []string{"@model", "@type"}},
	"qemu:commandline/qemu:arg": {whole: true},
	"qemu:commandline/qemu:env": {keys: []string{"@name"}},

	"devices/disk/source/host":              {whole: true},
	"devices/interface/ip":                  {whole: true},
	"devices/interface/route":               {whole: true},
	"devices/graphics/listen":               {ordinal: true},
	"devices/graphics/channel":              {keys: []string{"@name"}},
	"devices/interface/vlan/tag":            {whole: true},
	"devices/interface/filterref/parameter": {keys: []string{"@name+@value"}},
}

// identityOf finds an element's identity; one that the table does not know is told by a usual key, or by its order.
func identityOf(path string) identity {
	if id, ok := identities[path]; ok {
		return id
	}
	return identity{keys: []string{"@name", "@id", "@index"}, ordinal: true}
}

// keyOf is the value of a key on an element, canonical; false when a part of it is missing.
func keyOf(e *Element, key string) (string, bool) {
	var parts []string
	for part := range strings.SplitSeq(key, "+") {
		path, attr, _ := strings.Cut(part, "@")
		at := e
		if path != "" {
			at = e.Child(path)
		}
		if attr == "text" && at != nil {
			parts = append(parts, at.Text)
			continue
		}
		v, ok := at.lookup(attr)
		if !ok {
			return "", false
		}
		parts = append(parts, canonical(at.Name, attr, v))
	}
	return strings.Join(parts, "\x00"), true
}

// A pair is an element of one side and its counterpart.
type pairing map[*Element]*Element

// pair finds for each element of a, all of one name below one parent, its counterpart in b. Elements with different user
// aliases are never the same, whatever else they share.
func pair(path string, a, b []*Element) pairing {
	id := identityOf(path)
	pairs := make(pairing, len(a))
	taken := make(map[*Element]bool, len(b))
	apart := func(x, y *Element) bool {
		ax, ay := x.UserAlias(), y.UserAlias()
		return ax != "" && ay != "" && ax != ay
	}
	join := func(value func(*Element) (string, bool)) {
		index := make(map[string]*Element, len(b))
		for _, y := range b {
			if v, ok := value(y); ok && !taken[y] && index[v] == nil {
				index[v] = y
			}
		}
		for _, x := range a {
			if v, ok := value(x); ok && pairs[x] == nil {
				if y := index[v]; y != nil && !taken[y] && !apart(x, y) {
					pairs[x], taken[y] = y, true
				}
			}
		}
	}
	join(func(e *Element) (string, bool) { v := e.UserAlias(); return v, v != "" })
	for _, key := range id.keys {
		join(func(e *Element) (string, bool) { return keyOf(e, key) })
	}
	for _, x := range a {
		if pairs[x] != nil {
			continue
		}
		for _, y := range b {
			if !taken[y] && !apart(x, y) && !contradict(id, x, y) && (id.ordinal || says(path, y, x)) {
				pairs[x], taken[y] = y, true
				break
			}
		}
	}
	return pairs
}

// says whether have has all that want says: then it is what want means, even if nothing names either.
func says(path string, have, want *Element) bool {
	c := &converger{}
	c.element(path, "", have.Clone(), want, nil)
	return len(c.changes) == 0
}

// contradict says whether both have a key, and not the same.
func contradict(id identity, x, y *Element) bool {
	for _, key := range id.keys {
		vx, okx := keyOf(x, key)
		vy, oky := keyOf(y, key)
		if okx && oky && vx != vy {
			return true
		}
	}
	return false
}

// label names an element for people: its user alias, or its key, or nothing.
func label(path string, e *Element) string {
	if alias := e.UserAlias(); alias != "" {
		return "[" + alias + "]"
	}
	if !strings.Contains(path, "/") && identities[path].keys == nil {
		return ""
	}
	for _, key := range identityOf(path).keys {
		if v, ok := keyOf(e, key); ok {
			return "[" + strings.ReplaceAll(v, "\x00", ",") + "]"
		}
	}
	return ""
}
