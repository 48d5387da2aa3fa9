package manifest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// Partial is what a document says of a template's spec. A tree takes some ten times the memory of what it says, and of
// most documents an agent never needs one, because their machines are on other hosts: what was read is kept in a packed
// form, and the tree made when it is asked for.
type Partial struct {
	tree   Tree   // until it is packed
	packed string // the tree, as packer writes it
}

// PartialOf is a tree as a document would say it. The tree must not be changed any more.
func PartialOf(tree Tree) Partial { return Partial{tree: tree} }

// Tree is what is said. It is nil when nothing is, and not to be changed.
func (p Partial) Tree() Tree {
	if p.packed == "" {
		return p.tree
	}
	u := unpacker{p.packed}
	tree, _ := u.value().(map[string]any)
	return tree
}

// Mentions says whether a field of that name may be said, at whatever depth: false is certain, and costs no tree.
func (p Partial) Mentions(field string) bool {
	return p.packed == "" || strings.Contains(p.packed, field)
}

// IsZero says that nothing is said.
func (p Partial) IsZero() bool { return p.tree == nil && p.packed == "" }

// MarshalJSON writes the tree.
func (p Partial) MarshalJSON() ([]byte, error) { return json.Marshal(p.Tree()) }

// UnmarshalJSON reads what MarshalJSON writes. Numbers are floats then, as everywhere in JSON.
func (p *Partial) UnmarshalJSON(data []byte) error {
	*p = Partial{}
	return json.Unmarshal(data, &p.tree)
}

// pack gives the tree up.
func (p *Partial) pack() {
	if p.tree == nil {
		return
	}
	k := packer{out: make([]byte, 0, 1024), names: make([]string, 0, 64)}
	if k.value(map[string]any(p.tree)) {
		*p = Partial{packed: string(k.out)}
	}
}

// The forms of a value. Strings and numbers follow in full, lists and mappings by their length and what is in them.
const (
	packedNil = iota
	packedFalse
	packedTrue
	packedInt
	packedFloat
	packedString
	packedList
	packedMapping
)

// packer writes values, one behind the other.
type packer struct {
	out   []byte
	names []string // of the mappings that are being written
}

// value says false of a value that no document says.
func (k *packer) value(v any) bool {
	switch v := v.(type) {
	case nil:
		k.out = append(k.out, packedNil)
	case bool:
		form := byte(packedFalse)
		if v {
			form = packedTrue
		}
		k.out = append(k.out, form)
	case int64:
		k.out = binary.AppendVarint(append(k.out, packedInt), v)
	case float64:
		k.out = binary.LittleEndian.AppendUint64(append(k.out, packedFloat), math.Float64bits(v))
	case string:
		k.out = append(k.out, packedString)
		k.text(v)
	case []any:
		k.out = binary.AppendUvarint(append(k.out, packedList), uint64(len(v)))
		for _, item := range v {
			if !k.value(item) {
				return false
			}
		}
	case map[string]any:
		k.out = binary.AppendUvarint(append(k.out, packedMapping), uint64(len(v)))
		from := len(k.names)
		for name := range v {
			k.names = append(k.names, name)
		}
		names := k.names[from:]
		slices.Sort(names) // the same bytes each time
		for _, name := range names {
			k.text(name)
			if !k.value(v[name]) {
				return false
			}
		}
		k.names = k.names[:from]
	default:
		return false
	}
	return true
}

func (k *packer) text(s string) {
	k.out = append(binary.AppendUvarint(k.out, uint64(len(s))), s...)
}

// unpacker reads what a packer has written. Strings stay where they are.
type unpacker struct{ in string }

func (u *unpacker) value() any {
	form := u.in[0]
	u.in = u.in[1:]
	switch form {
	case packedFalse:
		return false
	case packedTrue:
		return true
	case packedInt:
		n := u.number()
		return int64(n>>1) ^ -int64(n&1)
	case packedFloat:
		var bits [8]byte
		copy(bits[:], u.in)
		u.in = u.in[len(bits):]
		return math.Float64frombits(binary.LittleEndian.Uint64(bits[:]))
	case packedString:
		return u.text()
	case packedList:
		list := make([]any, u.number())
		for i := range list {
			list[i] = u.value()
		}
		return list
	case packedMapping:
		n := int(u.number())
		mapping := make(map[string]any, n)
		for range n {
			name := u.text()
			mapping[name] = u.value()
		}
		return mapping
	}
	return nil
}

func (u *unpacker) text() string {
	n := u.number()
	s := u.in[:n]
	u.in = u.in[n:]
	return s
}

// number reads a number of seven bits to a byte, the lowest first; a set highest bit says that more follow.
func (u *unpacker) number() uint64 {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := u.in[0]
		u.in = u.in[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}
