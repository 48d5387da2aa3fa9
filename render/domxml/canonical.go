package domxml

import (
	"math/big"
	"strconv"
	"strings"
)

// numeric attributes are written in decimal by people and in hexadecimal by libvirt, or the other way round.
var numeric = map[string]bool{
	"domain": true, "bus": true, "slot": true, "function": true, "controller": true, "unit": true, "port": true,
	"index": true, "reg": true, "iobase": true, "irq": true, "base": true, "target": true, "id": true, "vcpu": true,
	"chassis": true, "cid": true,
}

// caseless attributes are stored in lower case by libvirt.
var caseless = map[string]bool{"mac@address": true, "model@type": true}

// canonical is the form in which two spellings of one attribute value are equal.
func canonical(element, attr, value string) string {
	if caseless[element+"@"+attr] {
		return strings.ToLower(value)
	}
	if numeric[attr] {
		if n, err := strconv.ParseInt(value, 0, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	}
	return value
}

// sameAttr compares one attribute's values as libvirt understands them.
func sameAttr(path, attr, want, have string) bool {
	if want == have {
		return true
	}
	if path == "os/type" && attr == "machine" {
		return sameMachine(want, have)
	}
	element := path[strings.LastIndexByte(path, '/')+1:]
	return canonical(element, attr, want) == canonical(element, attr, have)
}

// sameMachine knows that libvirt stores an alias as the versioned name that it meant when the domain was defined, and
// that this name then stays.
func sameMachine(want, have string) bool {
	switch want {
	case "q35":
		return strings.HasPrefix(have, "pc-q35-")
	case "pc":
		return strings.HasPrefix(have, "pc-i440fx-")
	case "virt":
		return strings.HasPrefix(have, "virt-")
	}
	return false
}

// sameText compares the text of two elements, together with their units.
func sameText(path string, want, have *Element) bool {
	if want.Text == have.Text && want.Attr("unit") == have.Attr("unit") {
		return true
	}
	if path == "uuid" {
		return strings.EqualFold(strings.ReplaceAll(want.Text, "-", ""), strings.ReplaceAll(have.Text, "-", ""))
	}
	w, okw := bytesOf(want)
	h, okh := bytesOf(have)
	return okw && okh && w.Cmp(h) == 0
}

// isAmount says whether an element's text is a number with a unit attribute.
func isAmount(e *Element) bool {
	_, ok := e.lookup("unit")
	return ok && e.Text != ""
}

// bytesOf is a memory amount in bytes, rounded up to KiB as libvirt stores it. Units as on libvirt's formatdomain page:
// KiB when there is none.
func bytesOf(e *Element) (*big.Int, bool) {
	n, ok := new(big.Int).SetString(e.Text, 10)
	if !ok {
		return nil, false
	}
	unit := e.Attr("unit")
	if unit == "" {
		unit = "KiB"
	}
	factor, ok := unitBytes(unit)
	if !ok {
		return nil, false
	}
	n.Mul(n, big.NewInt(factor))
	n.Add(n, big.NewInt(1023))
	return n.Rsh(n, 10), true
}

func unitBytes(unit string) (int64, bool) {
	prefixes := "kmgtpe"
	u := strings.ToLower(unit)
	if u == "b" || u == "bytes" {
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
