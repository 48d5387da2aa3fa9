package schema_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// TestWhatIsReadIsValid changes sound documents at random, along the forms of their kinds. What the reader accepts then
// must be valid too.
func TestWhatIsReadIsValid(t *testing.T) {
	all := compiled(t)
	var seeds []document
	forms := map[string]*manifest.Form{}
	for _, kind := range manifest.Kinds() {
		forms[kind] = manifest.FormOf(kind)
	}
	for _, d := range golden(t) {
		if !d.Broken && d.own != "" {
			seeds = append(seeds, d)
		}
	}
	g := guesser{rand.New(rand.NewPCG(3, 6))}
	const rounds = 12_000
	read, valid := 0, 0
	for range rounds {
		seed := seeds[g.IntN(len(seeds))]
		value := g.change(forms[seed.own], seed.value)
		for g.IntN(3) == 0 {
			value = g.change(forms[seed.own], value)
		}
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		file := manifest.Read("folder/file.json", data)
		sound := len(file.Documents) == 1 && !file.Documents[0].Broken
		invalid := all[seed.own].Validate(parse(t, data))
		if sound && invalid != nil {
			t.Fatalf("the reader accepts it, and the schema does not:\n%s\n%v", data, invalid)
		}
		read += count(sound)
		valid += count(invalid == nil)
	}
	// The schema lets more pass: it cannot tell a name that is there twice, and such.
	if read < rounds/5 || valid-read > rounds/5 || read > rounds*4/5 {
		t.Errorf("of %d documents %d are read and %d are valid", rounds, read, valid)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// guesser makes values up.
type guesser struct{ *rand.Rand }

// change returns a copy of a value with one thing in it changed.
func (g guesser) change(f *manifest.Form, value any) any {
	switch v := value.(type) {
	case map[string]any:
		if f.Is == manifest.NatureObject && len(f.Fields) > 0 {
			copied := make(map[string]any, len(v))
			for key, value := range v {
				copied[key] = value
			}
			field := f.Fields[g.IntN(len(f.Fields))]
			// What is there is more worth changing than what is not.
			for range 3 {
				if _, ok := v[field.Name]; !ok {
					field = f.Fields[g.IntN(len(f.Fields))]
				}
			}
			old, ok := v[field.Name]
			switch {
			case ok && g.IntN(8) == 0:
				delete(copied, field.Name)
			case ok:
				copied[field.Name] = g.change(field.Form, old)
			default:
				copied[field.Name] = g.value(field.Form)
			}
			return copied
		}
	case []any:
		if len(v) > 0 && f.Is == manifest.NatureList {
			copied := append([]any(nil), v...)
			i := g.IntN(len(v))
			switch g.IntN(6) {
			case 0:
				return append(copied[:i], copied[i+1:]...)
			case 1:
				return append(copied, g.value(f.Elem))
			}
			copied[i] = g.change(f.Elem, v[i])
			return copied
		}
	}
	return g.value(f)
}

// value makes a value, which is mostly of the right type.
func (g guesser) value(f *manifest.Form) any {
	switch g.IntN(20) {
	case 0:
		return nil
	case 1:
		return []any{"", "x", 1, true, map[string]any{}, []any{}, -1.5}[g.IntN(7)]
	}
	switch f.Is {
	case manifest.NatureObject:
		object := map[string]any{}
		for _, field := range f.Fields {
			if field.Required || g.IntN(len(f.Fields)) == 0 {
				object[field.Name] = g.value(field.Form)
			}
		}
		return object
	case manifest.NatureMap:
		return map[string]any{g.text(): g.value(f.Elem)}
	case manifest.NatureList:
		return []any{g.value(f.Elem)}
	case manifest.NatureBool:
		return g.IntN(2) == 0
	case manifest.NatureInt, manifest.NatureFloat:
		return []any{0, 1, 2, 4, 4094, 4095, 8191, 1 << 31, 1 << 53, 1 << 62, -1, 1e3, 2.5}[g.IntN(13)]
	case manifest.NatureQuantity:
		return g.quantity()
	}
	if len(f.Values) > 0 && g.IntN(6) > 0 {
		return f.Values[g.IntN(len(f.Values))]
	}
	return g.text()
}

// text makes a string that some field or other takes.
func (g guesser) text() string {
	texts := []string{"", "web", "a-1", "A b", "-", "kvm1.example.com", "a/b", "example.com/x_y.z", "/srv/x.img", "/srv/../x", "/",
		"x.xml", "../x.xml", "../../x.xml", "0c1a5a52-92d2-4f4e-8d62-6f1a4a8d7a11", "52:54:00:12:34:56", "53-54-00-12-34-56",
		"0000:65:00.1", "eA==", "e A=\n=", "secret!", "registry.example:5000/disk:1@x", "registry.example/disk:1", "192.0.2.1/24",
		"host-passthrough", "q35", "br0", "a-much-too-long-name", "zwölf", strings.Repeat("n", 63), strings.Repeat("n", 64)}
	return texts[g.IntN(len(texts))]
}

// quantity makes what may be a quantity.
func (g guesser) quantity() any {
	switch g.IntN(4) {
	case 0:
		return []any{0, 1, 1 << 30, -1, 1.5, 1e9, 1e20}[g.IntN(7)]
	case 1:
		return []string{"1Gi", "20G", "512Mi", "1.5G", "2GB", "1 Gi", "0", "1e3"}[g.IntN(8)]
	}
	var b strings.Builder
	for range 1 + g.IntN(5) {
		const letters = "0123456789.-+eEKMGTPinumk "
		b.WriteByte(letters[g.IntN(len(letters))])
	}
	return b.String()
}
