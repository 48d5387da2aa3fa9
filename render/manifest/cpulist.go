package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// maxCPU is the highest number of a host's CPU, so that a slip of the finger does not fill the memory.
const maxCPU = 1 << 14

// CPUList reads a list of a host's CPUs, such as 2-7,10. No CPU is in it twice.
func CPUList(list string) ([]int, error) {
	var cpus []int
	seen := map[int]bool{}
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && ranged {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 0 || to < from || to > maxCPU {
			return nil, fmt.Errorf("%s is not a list of CPUs, such as 2-7,10", quoted(list))
		}
		for n := from; n <= to; n++ {
			if seen[n] {
				return nil, fmt.Errorf("%s names CPU %d twice", quoted(list), n)
			}
			seen[n] = true
			cpus = append(cpus, n)
		}
	}
	return cpus, nil
}
