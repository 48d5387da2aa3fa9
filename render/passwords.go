package render

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/secret"
)

// passwords resolves the passwords of screens. Anywhere else, what stands for one would be put in the clear into what
// everybody reads who may ask libvirt for the domain.
func (r *referral) passwords(e *domxml.Element, path []string) {
	screen := e.Name == "graphics" && slices.Equal(path, []string{"domain", "devices"})
	switch said := e.Attr("passwd"); {
	case said == "":
	case screen:
		r.password(e, said)
	case e.Name == "graphics" || strings.HasPrefix(said, reference):
		r.problem("<%s> has a passwd, and only <graphics> in <devices> can have one", e.Name)
	}
	path = append(path, e.Name)
	for _, c := range e.Children {
		r.passwords(c, path)
	}
}

// password puts a token in a password's place. What a document says itself can be no token: it would be another machine's.
func (r *referral) password(e *domxml.Element, said string) {
	name, refers := strings.CutPrefix(said, reference)
	switch {
	case refers:
		f, ok := r.find(name, "password")
		if !ok {
			return
		}
		if text := f.value.Bytes(); !utf8.Valid(text) || slices.ContainsFunc(text, func(b byte) bool { return b < ' ' }) {
			r.problem("secret:%s has more than one line, or is no text: a password is one line", name)
			return
		}
		e.SetAttr("passwd", f.token)
	case r.o.Secrets != nil:
		e.SetAttr("passwd", r.o.Secrets.Token(secret.NewValue([]byte(said))))
	}
}
