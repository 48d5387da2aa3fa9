package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
)

// Size is what a machine takes of its host.
type Size struct {
	CPUs, Threads     int64 // vCPUs at most, and IO threads
	Memory, MaxMemory int64 // bytes, now and at most
	Disk              int64 // bytes of the volumes that are made for it
	// Open says that a volume has no size of its own, but that of an image that nobody has looked at yet.
	Open string
}

// Rules of sizes.
const (
	ruleVMCPUs     = "vm-cpus"
	ruleVMMemory   = "vm-memory"
	ruleVMDisk     = "vm-disk"
	ruleHostCPUs   = "host-cpus"
	ruleHostMemory = "host-memory"
	ruleHostDisk   = "host-disk"
)

// unreadable is a number that cannot be read: more than any ceiling.
const unreadable = math.MaxInt64

func sizeOf(i *render.Instance) Size {
	s := DomainSize(i.Domain)
	for _, t := range i.Temporary {
		if t.Name == "memory" {
			s.Memory = sum(s.Memory, bytes(t.Child("target/size"), "", "unit"))
		}
	}
	for _, list := range [][]render.Volume{i.Volumes, i.TemporaryVolumes} {
		for _, v := range list {
			switch v.Kind {
			case render.VolumeBlank, render.VolumeOverlay, render.VolumeCopy, render.VolumeEmpty:
			case render.VolumeFile:
				if !v.Create {
					continue
				}
			default:
				continue
			}
			if v.Size < 0 {
				v.Size = unreadable
			}
			s.Disk = sum(s.Disk, v.Size)
			if v.Size == 0 && (v.Kind == render.VolumeOverlay || v.Kind == render.VolumeCopy) {
				s.Open = v.Name
			}
		}
	}
	return s
}

// DomainSize is what a domain's XML says of CPUs and memory.
func DomainSize(domain *domxml.Element) Size {
	var s Size
	vcpu := domain.Child("vcpu")
	if vcpu != nil {
		s.CPUs = count(vcpu.Text)
	}
	if t := domain.Child("cpu/topology"); t != nil {
		product := int64(1)
		for _, name := range []string{"sockets", "dies", "clusters", "cores", "threads"} {
			if text := t.Attr(name); text != "" {
				product = times(product, count(text))
			}
		}
		s.CPUs = max(s.CPUs, product)
	}
	if vcpu == nil && s.CPUs == 0 {
		s.CPUs = 1
	}
	if e := domain.Child("iothreads"); e != nil {
		s.Threads = count(e.Text)
	}
	if e := domain.Child("iothreadids"); e != nil {
		s.Threads = max(s.Threads, int64(len(e.Children)))
	}
	var cells, modules int64
	if numa := domain.Child("cpu/numa"); numa != nil {
		for _, cell := range numa.Children {
			if cell.Name == "cell" {
				cells = sum(cells, bytes(cell, "memory", "unit"))
			}
		}
	}
	if devices := domain.Child("devices"); devices != nil {
		for _, d := range devices.Children {
			if d.Name == "memory" {
				modules = sum(modules, bytes(d.Child("target/size"), "", "unit"))
			}
		}
	}
	said := max(bytes(domain.Child("memory"), "", "unit"), bytes(domain.Child("currentMemory"), "", "unit"))
	s.Memory = max(said, sum(cells, modules))
	if cells == 0 {
		s.Memory = max(s.Memory, modules)
	}
	s.MaxMemory = max(s.Memory, bytes(domain.Child("maxMemory"), "", "unit"))
	return s
}

// count reads a number of something.
func count(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return unreadable
	}
	return n
}

// bytes reads an amount of memory, which is in KiB when no unit is said (formatdomain); 0 where nothing is said.
func bytes(e *domxml.Element, attr, unit string) int64 {
	if e == nil {
		return 0
	}
	text := e.Text
	if attr != "" {
		text = e.Attr(attr)
	}
	if text == "" {
		return 0
	}
	factor, ok := factors[strings.ToLower(e.Attr(unit))]
	if !ok {
		return unreadable
	}
	return times(count(text), factor)
}

// factors are libvirt's units of memory (formatdomain), in bytes.
var factors = map[string]int64{
	"": 1 << 10, "b": 1, "byte": 1, "bytes": 1, "kb": 1e3, "k": 1 << 10, "kib": 1 << 10, "mb": 1e6, "m": 1 << 20, "mib": 1 << 20,
	"gb": 1e9, "g": 1 << 30, "gib": 1 << 30, "tb": 1e12, "t": 1 << 40, "tib": 1 << 40, "pb": 1e15, "p": 1 << 50, "pib": 1 << 50,
	"eb": 1e18, "e": 1 << 60, "eib": 1 << 60,
}

func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return unreadable
	}
	return a + b
}

func times(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return unreadable
	}
	return a * b
}

// ceilings compares the size with what one machine may have.
func (c *checker) ceilings() {
	over := func(rule, field, what string, has, most int64, text func(int64) string) {
		if most > 0 && has > most {
			c.found = append(c.found, Refusal{Rule: rule, Field: field, Value: text(has), Message: fmt.Sprintf(
				"the machine has %s %s, and policy.limits.vm of the agent's file allows %s", text(has), what, text(most))})
		}
	}
	limits := c.policy.VM
	over(ruleVMCPUs, "domain.cpu", "vCPUs", c.size.CPUs, limits.CPUs, plain)
	// An IO thread is a thread of the host, which runs when the guest has it run.
	over(ruleVMCPUs, "domain.ioThreads", "IO threads", c.size.Threads, limits.CPUs, plain)
	over(ruleVMMemory, "domain.memory", "of memory", c.size.MaxMemory, limits.Memory, binary)
	over(ruleVMDisk, "volumes", "of disks", c.size.Disk, limits.Disk, binary)
	if c.size.Open != "" && (limits.Disk > 0 || c.policy.Host.Disk > 0) {
		c.found = append(c.found, Refusal{Rule: ruleVMDisk, Field: "volumes", Value: c.size.Open, Message: fmt.Sprintf(
			"the volume %s says no size, and the agent's file bounds disks: say its size", c.size.Open)})
	}
}

func plain(n int64) string {
	if n == unreadable {
		return "more than can be counted"
	}
	return strconv.FormatInt(n, 10)
}

// binary is an amount for people.
func binary(n int64) string {
	if n == unreadable {
		return "more than can be counted"
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	at := 0
	for at < len(units)-1 && n >= 1<<10 && n%(1<<10) == 0 {
		n, at = n>>10, at+1
	}
	return fmt.Sprintf("%d %s", n, units[at])
}
