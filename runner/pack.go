package runner

import (
	"sync"

	"github.com/klauspost/compress/s2"
)

// packer keeps texts that are much alike, as the XML of domains of one host is, in little memory: each as what it has that
// the first has not. Of 5.5 kB, 0.7 are left, which takes 3 µs to pack and 1 µs to unpack; most of it is the record that
// we keep in the XML ourselves, which is compressed already. It is safe for concurrent use.
type packer struct {
	first sync.Once
	like  *s2.Dict // nil: the first text was nothing to go by
}

// packed is a text. It is never changed.
type packed struct {
	like *s2.Dict
	data []byte
}

func (p *packer) pack(text string) *packed {
	raw := []byte(text)
	p.first.Do(func() { p.like = s2.MakeDict(raw, nil) })
	var data []byte
	if p.like == nil {
		data = s2.Encode(nil, raw)
	} else {
		data = p.like.Encode(nil, raw)
	}
	return &packed{p.like, append(make([]byte, 0, len(data)), data...)} // no room for more is kept
}

// String is the text.
func (p *packed) String() string {
	var text []byte
	var err error
	if p.like == nil {
		text, err = s2.Decode(nil, p.data)
	} else {
		text, err = p.like.Decode(nil, p.data)
	}
	if err != nil {
		panic("a text of libvirt's was overwritten in memory: " + err.Error())
	}
	return string(text)
}
