package domxml

import (
	"crypto/sha256"
	"fmt"
	"strings"

	secrets "github.com/gitvirt/gitvirt/render/secret"
)

func secret(attr, value string) string {
	if attr != "passwd" || value == "" || secrets.IsToken(value) {
		return value
	}
	digest := sha256.Sum256([]byte(value))
	return fmt.Sprintf("sha256:%x", digest[:6])
}

// amountText is an element's text with its unit.
func amountText(e *Element) string {
	if u := e.Attr("unit"); u != "" {
		return e.Text + " " + u
	}
	return e.Text
}

// summary is an element in a few words.
func summary(e *Element) string {
	if e.Text != "" {
		return amountText(e)
	}
	var words []string
	add := func(e *Element) {
		if e == nil {
			return
		}
		for _, a := range e.Attrs {
			if !strings.HasPrefix(a.Name, "xmlns") {
				words = append(words, a.Name+"="+secret(a.Name, a.Value))
			}
		}
	}
	add(e)
	for _, name := range []string{"source", "target", "model", "mac"} {
		add(e.Child(name))
	}
	if len(words) == 0 {
		return "present"
	}
	return strings.Join(words, " ")
}

func summaries(list []*Element) string {
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = summary(e)
	}
	return strings.Join(words, ", ")
}
