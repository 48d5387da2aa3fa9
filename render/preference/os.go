package preference

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/gitvirt/gitvirt/render/manifest"
)

//go:embed os.yaml
var table []byte

// System is an operating system, and what a guest of it needs.
type System struct {
	Name string `json:"name"`
	// Aliases are other names of it, and of versions that need the same.
	Aliases []string `json:"aliases,omitempty"`
	// Why says what is particular about it.
	Why        string                  `json:"why"`
	Preference manifest.PreferenceSpec `json:"preference"`

	words Words
}

// For is what guests of the system need of what a machine leaves unsaid.
func (s *System) For(tree manifest.Tree) manifest.Tree { return s.words.For(tree) }

// systems reads the table at first use. It is data that was checked by a test.
var systems = sync.OnceValue(func() []System {
	var all []System
	if err := yaml.UnmarshalStrict(table, &all); err != nil {
		panic(fmt.Sprintf("preference: the table of operating systems cannot be read: %v", err))
	}
	for i := range all {
		all[i].words = WordsOf(&all[i].Preference)
	}
	return all
})

// Systems are all that are known, in the order of the table.
func Systems() []System { return slices.Clone(systems()) }

// OS finds an operating system by one of its names.
func OS(name string) (System, error) {
	wanted := strings.ToLower(strings.TrimSpace(name))
	nearest, best := "", 3
	for _, s := range systems() {
		for _, n := range append([]string{s.Name}, s.Aliases...) {
			if n == wanted {
				return s, nil
			}
			if d := distance(n, wanted); d < best {
				nearest, best = n, d
			}
		}
	}
	if nearest != "" {
		return System{}, fmt.Errorf("%q is not a known operating system; did you mean %q? The list is deploy/reference/os.md", name, nearest)
	}
	return System{}, fmt.Errorf("%q is not a known operating system: the list is deploy/reference/os.md, and linux or windows are for others", name)
}

// distance is how many letters two words differ by (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			above, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, above+cost)
		}
	}
	return row[len(b)]
}
