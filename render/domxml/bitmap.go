package domxml

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxBit bounds what a list of CPUs or nodes may name: libvirt's own limit is 16384.
const maxBit = 1 << 16

// parseBitmap reads a list of CPUs or nodes, "1-3,^2": a part that begins with ^ takes out again what stands before it.
func parseBitmap(text string) (map[int]bool, bool) {
	bits := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		number, out := strings.CutPrefix(strings.TrimSpace(part), "^")
		low, high, ranged := strings.Cut(number, "-")
		from, err := strconv.Atoi(strings.TrimSpace(low))
		if err != nil || from < 0 || from > maxBit {
			return nil, false
		}
		to := from
		if ranged {
			if to, err = strconv.Atoi(strings.TrimSpace(high)); err != nil || to < from || to > maxBit || out {
				return nil, false
			}
		}
		for n := from; n <= to; n++ {
			if out {
				delete(bits, n)
			} else {
				bits[n] = true
			}
		}
	}
	return bits, true
}

// canonicalBitmap names each of a list's numbers, in their order.
func canonicalBitmap(text string) string {
	bits, ok := parseBitmap(text)
	if !ok {
		return text
	}
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(bits)) {
		b.WriteString(strconv.Itoa(n))
		b.WriteByte(',')
	}
	return b.String()
}
