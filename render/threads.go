package render

import (
	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// threads are QEMU's IO threads, and which of them works on which disk.
type threads struct {
	total uint32
	of    map[string]string // by the disk's name; none for what QEMU's main loop does
}

// spread shares the IO threads out among the virtio disks, in KubeVirt's way: a disk with a dedicated thread has that for
// itself. Of the others all have one thread under the policy shared, which a dedicated thread brings about by itself;
// each its own under auto, as long as there are no more than two threads a CPU; and under supplementalPool they take
// turns in the pool, since libvirt before 10.0 gives a disk no more than one.
func spread(spec *manifest.DomainSpec) threads {
	var own, rest []string
	for i := range spec.Devices.Disks {
		d := &spec.Devices.Disks[i]
		if !onVirtio(d) {
			continue
		}
		if isOn(d.DedicatedIOThread) {
			own = append(own, d.Name)
		} else {
			rest = append(rest, d.Name)
		}
	}
	if spec.IOThreadsPolicy == nil && len(own) == 0 {
		return threads{}
	}
	pool := uint32(1)
	if spec.IOThreadsPolicy != nil {
		switch *spec.IOThreadsPolicy {
		case kubevirt.IOThreadsPolicyAuto:
			limit := 2 * mostCPUs(spec.CPU)
			limit -= min(limit, uint32(len(own)))
			pool = max(min(limit, uint32(len(rest))), 1)
		case kubevirt.IOThreadsPolicySupplementalPool:
			if spec.IOThreads != nil && spec.IOThreads.SupplementalPoolThreadCount != nil {
				pool = max(*spec.IOThreads.SupplementalPoolThreadCount, 1)
			}
		}
	}
	if len(rest) == 0 {
		pool = 0
	}
	t := threads{of: map[string]string{}}
	for i, name := range rest {
		t.of[name] = count(uint32(i)%pool + 1)
	}
	for i, name := range own {
		t.of[name] = count(pool + uint32(i) + 1)
	}
	t.total = pool + uint32(len(own))
	return t
}
