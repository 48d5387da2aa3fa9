package main

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// vocabulary is which words the corpus has at each path: they are what a path may say.
type vocabulary map[string][]string

// word is what may be one of a fixed set.
var word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*$`)

// learn collects the words of the declarations that libvirtd accepts.
func learn(results []result) vocabulary {
	words := vocabulary{}
	add := func(path, value string) {
		if word.MatchString(value) && !slices.Contains(words[path], value) {
			words[path] = append(words[path], value)
		}
	}
	for _, r := range results {
		if !r.way.accepted() {
			continue
		}
		walk(r.want, "", func(path string, e *domxml.Element) {
			add(path, e.Text)
			for _, a := range e.Attrs {
				add(path+"@"+a.Name, a.Value)
			}
		})
	}
	for _, list := range words {
		slices.Sort(list)
	}
	return words
}

// walk visits an element and all below it, with the path below the root.
func walk(e *domxml.Element, path string, visit func(string, *domxml.Element)) {
	visit(path, e)
	for _, c := range e.Children {
		walk(c, below(path, c.Name), visit)
	}
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

var (
	integer = regexp.MustCompile(`^-?[0-9]+$`)
	hex     = regexp.MustCompile(`^0[xX][0-9a-fA-F]+$`)
	address = regexp.MustCompile(`^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2})+$`)
	uuid    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$`)
	list    = regexp.MustCompile(`^[0-9^,-]*[0-9]$`)
)

// toggles are words of which one is the other's opposite.
var toggles = map[string]string{"on": "off", "off": "on", "yes": "no", "no": "yes", "true": "false", "false": "true"}

// units are those of which the next is another amount.
var units = []string{"B", "bytes", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "k", "M", "G", "T"}

// other is another value of the same sort, that means another thing.
func (v vocabulary) other(path, value string, chance *rand.Rand) string {
	switch {
	case strings.HasSuffix(path, "@unit") && slices.Contains(units, value):
		return units[(slices.Index(units, value)+1)%len(units)]
	case strings.HasSuffix(path, "/alias@name"):
		return value + "x" // a name that is libvirt's own stays one
	case integer.MatchString(value):
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return strconv.FormatInt(n+1, 10)
		}
		return value[:len(value)-1] + next(value[len(value)-1])
	case uuid.MatchString(value), address.MatchString(value), list.MatchString(value):
		return value[:len(value)-1] + next(value[len(value)-1])
	case hex.MatchString(value):
		if n, err := strconv.ParseUint(value, 0, 64); err == nil {
			return "0x" + strconv.FormatUint(n+1, 16)
		}
	case toggles[value] != "":
		return toggles[value]
	}
	if words := v[path]; word.MatchString(value) && len(words) > 1 {
		for range 8 {
			if w := words[chance.IntN(len(words))]; !strings.EqualFold(w, value) {
				return w
			}
		}
	}
	return value + "x"
}

// next is the following digit.
func next(digit byte) string {
	switch digit {
	case '9':
		return "8"
	case 'f':
		return "e"
	case 'F':
		return "E"
	}
	return string(digit + 1)
}
