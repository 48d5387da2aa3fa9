package domxml

import "strings"

// An identity says how elements of one name below one parent are told from another. Without a key that both have, an
// element is taken for one that has all that it says; and position is the last resort, for some.
type identity struct {
	// keys are tried in order: each is one attribute, or several joined by "+", as path@attribute below the element, or as
	// path@attribute=value with what it is when it is not said.
	keys []string
	// unlike are the keys of which both have another value only when they are different elements; all keys when it is nil.
	unlike []string
	// ordinal elements without a common key are paired in their order. Otherwise they are different elements.
	ordinal bool
	// whole lists are compared, and replaced, as one: their order means something, or they have no identity.
	whole bool
	// each names an attribute with a list of numbers: a whole list then says something of each of them, and libvirt writes it
	// in as many elements as it likes.
	each string
}

// identities of elements by their path below <domain>. Sources: libvirt's formatdomain page; a device's user alias
// comes before all of these.
var identities = map[string]identity{
	"devices/disk":      {keys: []string{"target@dev", "source@file", "source@dev", "source@pool+source@volume"}},
	"devices/interface": {keys: []string{"mac@address"}},
	// USB controllers with companions share an index.
	"devices/controller": {keys: []string{"@type+@index+@model", "@type+@index"}},
	"devices/filesystem": {keys: []string{"target@dir"}},
	"devices/channel":    {keys: []string{"target@name", "target@address+target@port"}, ordinal: true},
	"devices/graphics":   {keys: []string{"@type"}},
	"devices/input":      {keys: []string{"@type+@bus", "@type"}},
	"devices/hostdev": {keys: []string{
		"source/address@domain+source/address@bus+source/address@slot+source/address@function",
		"source/vendor@id+source/product@id", "source/address@uuid",
		"source/adapter@name+source/address@bus+source/address@target+source/address@unit",
	}},
	"devices/shmem":    {keys: []string{"@name"}},
	"devices/audio":    {keys: []string{"@id"}},
	"devices/panic":    {keys: []string{"@model"}, ordinal: true},
	"devices/lease":    {keys: []string{"lockspace@text+key@text"}, ordinal: true},
	"devices/memory":   {ordinal: true},
	"devices/redirdev": {ordinal: true},
	"devices/serial":   {keys: []string{"target@port"}, ordinal: true},
	// The first console doubles the first serial port; both have port 0 then.
	"devices/console":  {keys: []string{"target@type=serial+target@port"}, unlike: []string{"target@type=serial"}, ordinal: true},
	"devices/parallel": {keys: []string{"target@port"}, ordinal: true},

	"os/boot":                          {whole: true},
	"os/initarg":                       {whole: true},
	"os/initenv":                       {keys: []string{"@name"}},
	"os/acpi/table":                    {keys: []string{"@type"}, ordinal: true},
	"sysinfo":                          {keys: []string{"@type"}},
	"sysinfo/oemStrings/entry":         {whole: true},
	"sysinfo/entry":                    {keys: []string{"@name"}},
	"sysinfo/bios/entry":               {keys: []string{"@name"}},
	"sysinfo/system/entry":             {keys: []string{"@name"}},
	"sysinfo/baseBoard":                {ordinal: true},
	"sysinfo/baseBoard/entry":          {keys: []string{"@name"}},
	"sysinfo/chassis/entry":            {keys: []string{"@name"}},
	"cpu/feature":                      {keys: []string{"@name"}},
	"cpu/cache":                        {keys: []string{"@level"}, ordinal: true},
	"cpu/numa/cell":                    {keys: []string{"@id"}, ordinal: true},
	"cpu/numa/cell/cache":              {keys: []string{"@level"}},
	"cpu/numa/cell/distances/sibling":  {keys: []string{"@id"}},
	"cpu/numa/interconnects/latency":   {keys: []string{"@initiator+@target+@type+@cache", "@initiator+@target+@type"}},
	"cpu/numa/interconnects/bandwidth": {keys: []string{"@initiator+@target+@type+@cache", "@initiator+@target+@type"}},
	"clock/timer":                      {keys: []string{"@name"}},
	"cputune/vcpupin":                  {keys: []string{"@vcpu"}},
	"cputune/iothreadpin":              {keys: []string{"@iothread"}},
	"cputune/vcpusched":                {whole: true, each: "vcpus"},
	"cputune/iothreadsched":            {whole: true, each: "iothreads"},
	"cputune/cachetune":                {keys: []string{"@vcpus"}},
	"cputune/cachetune/cache":          {keys: []string{"@id+@level+@type"}},
	"cputune/cachetune/monitor":        {keys: []string{"@level+@vcpus"}},
	"cputune/memorytune":               {keys: []string{"@vcpus"}},
	"cputune/memorytune/node":          {keys: []string{"@id"}},
	"blkiotune/device":                 {keys: []string{"path@text"}},
	"vcpus/vcpu":                       {keys: []string{"@id"}},
	"numatune/memnode":                 {keys: []string{"@cellid"}},
	"memoryBacking/hugepages/page":     {keys: []string{"@nodeset"}, ordinal: true},
	"iothreadids/iothread":             {keys: []string{"@id"}, ordinal: true},
	"idmap/uid":                        {keys: []string{"@start"}},
	"idmap/gid":                        {keys: []string{"@start"}},
	"perf/event":                       {keys: []string{"@name"}},
	"seclabel":                         {keys: []string{"@model", "@type"}, unlike: []string{"@model"}, ordinal: true},
	"qemu:commandline/qemu:arg":        {whole: true},
	"qemu:commandline/qemu:env":        {keys: []string{"@name"}},
	"qemu:capabilities/qemu:add":       {keys: []string{"@capability"}},
	"qemu:capabilities/qemu:del":       {keys: []string{"@capability"}},
	"qemu:deprecation":                 {ordinal: true},
	"qemu:override/qemu:device":        {keys: []string{"@alias"}},
	"qemu:override/qemu:device/qemu:frontend/qemu:property": {keys: []string{"@name"}},

	"devices/disk/source/host":                 {whole: true},
	"devices/hostdev/source/host":              {whole: true},
	"devices/disk/source/cookies/cookie":       {keys: []string{"@name"}},
	"devices/disk/source/slices/slice":         {keys: []string{"@type"}},
	"devices/disk/driver/statistics/statistic": {whole: true},
	"devices/interface/ip":                     {whole: true},
	"devices/interface/route":                  {whole: true},
	"devices/interface/portForward":            {whole: true},
	"devices/interface/portForward/range":      {whole: true},
	"devices/interface/source/ip":              {whole: true},
	"devices/interface/source/route":           {whole: true},
	"devices/graphics/listen":                  {ordinal: true},
	"devices/graphics/channel":                 {keys: []string{"@name"}},
	"devices/interface/vlan/tag":               {whole: true},
	"devices/interface/filterref/parameter":    {keys: []string{"@name+@value"}},
	"devices/redirfilter/usbdev":               {whole: true},
	"devices/tpm/backend/active_pcr_banks":     {ordinal: true},
}

// chardevEnd says whether a path is a character device's source, of which one on UDP has two: where it binds and where it
// connects to.
func chardevEnd(path string) bool {
	return strings.HasSuffix(path, "/source") && isChardev(path)
}

// identityOf finds an element's identity; one that the table does not know is told by a usual key, or by its order.
func identityOf(path string) identity {
	if id, ok := identities[path]; ok {
		return id
	}
	if chardevEnd(path) {
		return identity{keys: []string{"@mode=connect"}, ordinal: true}
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
		attr, otherwise, _ := strings.Cut(attr, "=")
		v, ok := at.lookup(attr)
		if !ok {
			v = otherwise
		}
		if v == "" {
			return "", false
		}
		parts = append(parts, canonical(path[strings.LastIndexByte(path, '/')+1:], attr, v))
	}
	return strings.Join(parts, "\x00"), true
}
