package render

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// memory is <memory>, <currentMemory> and <memoryBacking>. A guest that can grow has maxGuest as its memory and guest as
// its current memory: the balloon holds the difference, and libvirt can give of it to the running guest without another
// device (its <maxMemory> takes a memory device for each step, which is then part of the definition).
func memory(domain *domxml.Element, spec *manifest.DomainSpec) {
	m := spec.Memory
	if m == nil {
		return
	}
	if m.Guest != nil {
		most := m.Guest
		if m.MaxGuest != nil {
			most = m.MaxGuest
		}
		kib(domain, "memory", most)
		kib(domain, "currentMemory", m.Guest)
	}
	shared := len(spec.Devices.Filesystems) > 0
	if m.Hugepages == nil && !shared {
		return
	}
	backing := domain.Append(domxml.New("memoryBacking"))
	if m.Hugepages != nil {
		// Validation has read it.
		if size, err := resource.ParseQuantity(m.Hugepages.PageSize); err == nil {
			page := domxml.New("page", "size", strconv.FormatInt(size.Value()/1024, 10), "unit", "KiB")
			backing.Append(domxml.New("hugepages")).Append(page)
		}
	}
	if shared {
		// virtiofsd reads and writes the guest's memory.
		backing.Append(domxml.New("source", "type", "memfd"))
		backing.Append(domxml.New("access", "mode", "shared"))
	}
}

func kib(domain *domxml.Element, name string, q *manifest.Quantity) {
	text(domain, name, strconv.FormatInt((q.Value()+1023)/1024, 10)).SetAttr("unit", "KiB")
}
