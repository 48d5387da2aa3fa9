package render

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Placeholders are written $(gitvirt.NAME), as Kubernetes writes those of a container's arguments, and stand in what a guest is
// set up with. No shell and no template of cloud-init's (Jinja) has a word of this form: a shell would take "gitvirt.NAME" for
// a program. "$$(gitvirt." stands for "$(gitvirt." itself.
const (
	placeholderBegin = "$(gitvirt."
	placeholderMost  = 32 // letters of a name that are looked at
)

// placeholders are the words that stand for what differs between machines of one config.
func (i *Instance) placeholders(hostname string) map[string]string {
	words := map[string]string{"name": i.Name, "hostname": hostname, "host": i.Host, "uuid": i.UUID, "run": strconv.FormatInt(i.Run, 10)}
	switch {
	case i.Group != nil:
		words["group"], words["ordinal"] = i.Group.Name, strconv.Itoa(i.Group.Index)
	case i.Host == "": // nobody runs it yet, and who will may be a group
		words["group"], words["ordinal"] = i.Name, "0"
	}
	return words
}

// substitute puts words in the places of placeholders. An error names the line, and no more of the text than the placeholder:
// it may be secret.
func substitute(text []byte, words map[string]string) ([]byte, error) {
	if !bytes.Contains(text, []byte(placeholderBegin)) {
		return text, nil
	}
	var out []byte
	for rest, line := text, 1; ; {
		n := bytes.Index(rest, []byte(placeholderBegin))
		if n < 0 {
			return append(out, rest...), nil
		}
		line += bytes.Count(rest[:n], []byte("\n"))
		if n > 0 && rest[n-1] == '$' {
			out = append(append(out, rest[:n-1]...), placeholderBegin...)
			rest = rest[n+len(placeholderBegin):]
			continue
		}
		out = append(out, rest[:n]...)
		rest = rest[n+len(placeholderBegin):]
		name, ok := placeholderName(rest)
		if !ok {
			return nil, fmt.Errorf("line %d: %s… is no placeholder: write one as $(gitvirt.name), and $$(gitvirt. where none is meant", line, placeholderBegin)
		}
		word, known := words[name]
		switch {
		case !known && (name == "ordinal" || name == "group"):
			return nil, fmt.Errorf("line %d: $(gitvirt.%s) is of a member of a VirtualMachineGroup, and this machine is none", line, name)
		case !known:
			return nil, fmt.Errorf("line %d: there is no placeholder $(gitvirt.%s); known here: %s; write $$(gitvirt. where none is meant",
				line, name, strings.Join(slices.Sorted(maps.Keys(words)), ", "))
		}
		out = append(out, word...)
		rest = rest[len(name)+1:]
	}
}

// placeholderName is the name that a text begins with, up to the closing parenthesis.
func placeholderName(text []byte) (string, bool) {
	for n, c := range text[:min(len(text), placeholderMost)] {
		switch {
		case c == ')':
			return string(text[:n]), n > 0
		case c < 'a' || c > 'z':
			return "", false
		}
	}
	return "", false
}
