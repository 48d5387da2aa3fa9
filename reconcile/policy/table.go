package policy

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed elements.txt
var elements string

// row is what the table says of an element.
type row struct {
	attrs   map[string]word
	text    word
	check   string // of the whole element
	refused string // the rule that forbids it
	free    bool   // with all below
}

// word is what is known of an attribute, or of the text of an element.
type word struct {
	check  string
	values []string // those that may be; nil for any
	rule   string   // that another value breaks
}

// table is the rows by their element's path.
var table = sync.OnceValue(func() map[string]row {
	rows := map[string]row{}
	for n, line := range strings.Split(elements, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		words := strings.Fields(line)
		if _, twice := rows[words[0]]; twice {
			panic(fmt.Sprintf("policy: line %d of the table: %s stands there twice", n+1, words[0]))
		}
		rows[words[0]] = parseRow(words[1:])
	}
	return rows
})

func parseRow(words []string) row {
	r := row{attrs: map[string]word{}}
	for _, w := range words {
		switch {
		case w == "**":
			r.free = true
		case w[0] == '!':
			r.refused = w[1:]
		case w[0] == '%':
			r.check = w[1:]
		default:
			name, known := parseWord(w)
			if name == "#" {
				r.text = known
			} else {
				r.attrs[name] = known
			}
		}
	}
	return r
}

func parseWord(text string) (string, word) {
	if strings.HasPrefix(text, "xmlns:") {
		return text, word{}
	}
	if name, check, ok := strings.Cut(text, ":"); ok && !strings.Contains(name, "=") {
		return name, word{check: check}
	}
	name, values, ok := strings.Cut(text, "=")
	if !ok {
		return name, word{}
	}
	values, rule, _ := strings.Cut(values, "!")
	if rule == "" {
		rule = ruleElement
	}
	return name, word{values: strings.Split(values, "|"), rule: rule}
}

// ruleElement is the rule that everything breaks which is not known to stay in the guest.
const ruleElement = "element"

// rowOf finds the row of a path below <domain>.
func rowOf(path string) (row, bool) {
	rows := table()
	if r, ok := rows[path]; ok {
		return r, true
	}
	if rest, ok := strings.CutPrefix(path, "devices/"); ok {
		if _, below, ok := strings.Cut(rest, "/"); ok {
			r, ok := rows["devices/*/"+below]
			return r, ok
		}
	}
	return row{}, false
}

// Rules are the names of all rules, sorted.
func Rules() []string {
	all := []string{ruleElement, ruleImage, ruleProbe, ruleVMCPUs, ruleVMMemory, ruleVMDisk, ruleHostCPUs, ruleHostMemory, ruleHostDisk, ruleNamespace, ruleName, ruleRecord, ruleSeed}
	for _, r := range table() {
		all = append(all, r.refused, r.text.rule, r.text.check)
		for _, w := range r.attrs {
			all = append(all, w.rule, w.check)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	own := []string{"", "word", "disk-type", "hostdev", "hostdev-address", "secret-name"} // these speak by other rules' names
	return slices.DeleteFunc(all, func(s string) bool { return slices.Contains(own, s) })
}
