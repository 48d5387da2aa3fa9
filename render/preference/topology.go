package preference

import (
	"fmt"

	v1beta1 "kubevirt.io/api/instancetype/v1beta1"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// VCPUs is how many a machine says; 0 when it says none of sockets, cores and threads.
func VCPUs(tree manifest.Tree) uint64 {
	cpu := object(tree, "domain.cpu")
	product, said := uint64(1), false
	for _, name := range []string{"sockets", "cores", "threads"} {
		if n, ok := number(cpu[name]); ok && n > 0 {
			product, said = product*n, true
		}
	}
	if !said {
		return 0
	}
	return product
}

func number(v any) (uint64, bool) {
	switch n := v.(type) {
	case int64:
		return uint64(max(n, 0)), true
	case int:
		return uint64(max(n, 0)), true
	case float64:
		return uint64(max(n, 0)), true
	}
	return 0, false
}

// spread divides vCPUs into sockets, cores and threads. KubeVirt's default is sockets.
func spread(cpu map[string]any, guest uint32, p *manifest.PreferenceSpec) error {
	topology := v1beta1.Sockets
	var options v1beta1.SpreadOptions
	if p != nil && p.CPU != nil {
		if p.CPU.PreferredCPUTopology != nil {
			topology = *p.CPU.PreferredCPUTopology
		}
		if p.CPU.SpreadOptions != nil {
			options = *p.CPU.SpreadOptions
		}
	}
	sockets, cores, threads := guest, uint32(1), uint32(1)
	switch topology {
	case v1beta1.Cores, v1beta1.DeprecatedPreferCores:
		sockets, cores = 1, guest
	case v1beta1.Threads, v1beta1.DeprecatedPreferThreads:
		sockets, threads = 1, guest
	case v1beta1.Spread, v1beta1.DeprecatedPreferSpread:
		ratio := uint32(2)
		if p.PreferSpreadSocketToCoreRatio > 0 {
			ratio = p.PreferSpreadSocketToCoreRatio
		}
		if options.Ratio != nil {
			ratio = max(*options.Ratio, 1)
		}
		across := v1beta1.SpreadAcrossSocketsCores
		if options.Across != nil {
			across = *options.Across
		}
		per := ratio
		switch across {
		case v1beta1.SpreadAcrossCoresThreads:
			sockets, cores, threads = 1, guest/ratio, ratio
		case v1beta1.SpreadAcrossSocketsCoresThreads:
			per = 2 * ratio // two threads a core
			sockets, cores, threads = guest/per, ratio, 2
		default:
			sockets, cores = guest/ratio, ratio
		}
		if guest%per != 0 {
			return fmt.Errorf("%d vCPUs cannot be spread across %s by %d, as the preference wants it", guest, across, per)
		}
	}
	cpu["sockets"], cpu["cores"], cpu["threads"] = int64(sockets), int64(cores), int64(threads)
	return nil
}
