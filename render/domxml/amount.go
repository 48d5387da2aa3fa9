package domxml

import (
	"math/big"
	"strings"
)

// An amount is a number with a unit, in text or in attributes. Sources: libvirt's formatdomain page and, for the defaults
// that it leaves out, what a definition without a unit becomes (seen with libvirt 9.0).
type amount struct {
	// value and unit are the attributes; value is empty for the element's text.
	value, unit string
	// base is the unit when none is given, in bytes, and grain what libvirt rounds up to.
	base, grain int64
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// memory is how libvirt keeps guest memory.
var memory = amount{unit: "unit", base: kib, grain: kib}

// amounts by their element's path. All other text with a unit is memory.
var amounts = map[string]amount{
	"features/smm/tseg":                           {unit: "unit", base: mib, grain: 1},
	"features/tcg/tb-cache":                       {unit: "unit", base: mib, grain: mib},
	"devices/shmem/size":                          {unit: "unit", base: 1, grain: 1},
	"devices/disk/driver/metadata_cache/max_size": {unit: "unit", base: 1, grain: 1},
	"memoryBacking/hugepages/page":                {value: "size", unit: "unit", base: kib, grain: kib},
	"cpu/numa/cell":                               {value: "memory", unit: "unit", base: kib, grain: kib},
	"cpu/numa/cell/cache/size":                    {value: "value", unit: "unit", base: kib, grain: kib},
	"cpu/numa/interconnects/bandwidth":            {value: "value", unit: "unit", base: kib, grain: kib},
	"cputune/cachetune/cache":                     {value: "size", unit: "unit", base: kib, grain: 1},
}

// amountOf is the rule for an element; false when it holds no amount.
func amountOf(path string, e *Element) (amount, bool) {
	if a, ok := amounts[path]; ok {
		return a, true
	}
	return memory, e != nil && e.Text != ""
}

// of is an element's amount in grains; nil when it has none or it cannot be read.
func (a amount) of(e *Element) *big.Int {
	if e == nil {
		return nil
	}
	text := e.Text
	if a.value != "" {
		text = e.Attr(a.value)
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil
	}
	factor := a.base
	if unit := e.Attr(a.unit); unit != "" {
		if factor, ok = unitBytes(unit); !ok {
			return nil
		}
	}
	n.Mul(n, big.NewInt(factor))
	n.Add(n, big.NewInt(a.grain-1))
	return n.Div(n, big.NewInt(a.grain))
}

// same says whether two elements hold the same amount.
func (a amount) same(want, have *Element) bool {
	w, h := a.of(want), a.of(have)
	return w != nil && h != nil && w.Cmp(h) == 0
}

// unitBytes is a unit in bytes. Units as on libvirt's formatdomain page.
func unitBytes(unit string) (int64, bool) {
	prefixes := "kmgtpe"
	u := strings.ToLower(unit)
	if u == "b" || u == "byte" || u == "bytes" {
		return 1, true
	}
	power := strings.IndexByte(prefixes, u[0]) + 1
	if power == 0 {
		return 0, false
	}
	base := int64(1024)
	switch u[1:] {
	case "", "ib":
	case "b":
		base = 1000
	default:
		return 0, false
	}
	n := int64(1)
	for range power {
		n *= base
	}
	return n, true
}
