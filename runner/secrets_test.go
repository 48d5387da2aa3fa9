package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/secret"
)

// safe knows what it was asked for a token of.
type safe map[string]secret.Value

func (s safe) Token(v secret.Value) string {
	token := secret.Token([]byte("key"), v.Bytes())
	s[token] = v
	return token
}

func (s safe) Value(token string) (secret.Value, bool) {
	v, ok := s[token]
	return v, ok
}

// TestConcealAndReveal: what a plan sees has tokens, and what libvirt is given again has the passwords that it had.
func TestConcealAndReveal(t *testing.T) {
	r := &Runner{opts: Options{Secrets: safe{}}}
	for _, password := range []string{"plain", `a'b"c`, "<&>", "ü€", " x ", "&amp;", "hmac:00000000000000000000000000000000", "$1"} {
		given := domxml.New("domain").Append(domxml.New("graphics", "type", "vnc", "passwd", password, "passwdValidTo", "2030-01-01T00:00:00"))
		for _, text := range []string{given.String(), strings.ReplaceAll(strings.ReplaceAll(given.String(), `"`, "&quot;"), "'", `"`)} {
			concealed := r.conceal(text)
			e, err := domxml.Parse(concealed)
			if err != nil {
				t.Fatal(err)
			}
			if !secret.IsToken(e.Attr("passwd")) || e.Attr("passwd") == password || e.Attr("passwdValidTo") == "" {
				t.Errorf("%q is concealed as %s", password, concealed)
			}
			revealed, err := r.reveal(concealed)
			if err != nil {
				t.Fatal(err)
			}
			if e, err := domxml.Parse(revealed); err != nil || e.Attr("passwd") != password {
				t.Errorf("%q comes back as %s, %v", password, revealed, err)
			}
		}
	}
	// Somebody may have written it into libvirt's own file.
	if got := r.conceal("<graphics\n  type = 'vnc'\n  passwd = \"geheim\"\n/>"); strings.Contains(got, "geheim") || !strings.Contains(got, "hmac:") {
		t.Errorf("by hand: %s", got)
	}
	for name, text := range map[string]string{"a token of nobody's": "<graphics passwd='hmac:ffffffffffffffffffffffffffffffff'/>", "no token": "<graphics passwd='plain?'/>"} {
		if got, err := r.reveal(text); err == nil {
			t.Errorf("%s is revealed as %s", name, got)
		}
	}
	without := &Runner{}
	if text := "<graphics passwd='a'/>"; without.conceal(text) != text {
		t.Error("it conceals without secrets")
	}
}

// TestOnlyScreensHavePasswords: a document that has the token of another machine's secret, which plans and records show, gets
// that secret into no other place of its domain, where its guest or everybody could read it.
func TestOnlyScreensHavePasswords(t *testing.T) {
	known := safe{}
	r := &Runner{opts: Options{Secrets: known}}
	token := known.Token(secret.NewValue([]byte("canary")))
	words := []string{" passwd='" + token + "' ", ` passwd="` + token + `" `, "<graphics passwd='" + token + "'/>", `<graphics passwd="` + token + `"/>`}
	for _, said := range words {
		title, entry := domxml.New("title"), domxml.New("entry", "name", said)
		title.Text, entry.Text = said, said
		d := domxml.New("domain").Append(title).Append(entry).Append(domxml.New("x:note", "passwd", token)).
			Append(domxml.New("graphics", "type", "vnc", "keymap", said, "socket", said))
		text := d.String()
		if got, err := r.reveal(text); err != nil || got != text {
			t.Errorf("%q becomes %s, %v", said, got, err)
		}
		if got := r.conceal(text); got != text {
			t.Errorf("%q is concealed as %s", said, got)
		}
	}
}

// TestErrorsAreScrubbed: what libvirt or QEMU quote does not get into an error, whose class stays.
func TestErrorsAreScrubbed(t *testing.T) {
	known := safe{}
	r := &Runner{opts: Options{Secrets: known}}
	token := func(s string) string { return known.Token(secret.NewValue([]byte(s))) }
	step := plan.Step{XML: "<graphics passwd='" + token("canary1") + "'/>", Secrets: []render.Secret{{Token: token("canary2")}},
		Volumes: []render.Volume{{Encryption: &render.Encryption{Token: token("canary3")}}, {}}}
	err := r.scrub(classed{ErrInvalid, errors.New("bad canary1, canary2 and canary3")}, step)
	if strings.Contains(err.Error(), "canary") || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "bad (secret)") {
		t.Errorf("%v", err)
	}
	// Libvirt shows the line of XML that it cannot read.
	awkward := `can<&'"ary`
	step.Secrets = []render.Secret{{Token: token(awkward)}}
	for _, quoted := range []string{awkward, "can&lt;&amp;&#39;&#34;ary", "can&lt;&amp;&apos;&quot;ary", "Y2FuPCYnImFyeQ=="} {
		if err := r.scrub(errors.New("in line 1: passwd='"+quoted+"'"), step); err.Error() != "in line 1: passwd='(secret)'" {
			t.Errorf("%s: %v", quoted, err)
		}
	}
	if plain := errors.New("plain"); r.scrub(plain, step) != plain || r.scrub(nil, step) != nil {
		t.Error("an error without a secret is changed")
	}
	if said := fmt.Sprintf("%+v %+v", step, known); strings.Contains(said, "canary") {
		t.Errorf("a step shows a secret: %s", said)
	}
}

func TestSecretXML(t *testing.T) {
	for kind, element := range map[string]string{"iscsi": "target", "ceph": "name", "volume": "volume", "vtpm": "name"} {
		text, err := secretXML(render.Secret{Name: "chap", Kind: kind, UUID: "u"}, "web")
		if err != nil {
			t.Fatal(err)
		}
		e, err := domxml.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if e.Attr("private") != "yes" || e.Attr("ephemeral") != "no" || e.Child("usage").Attr("type") != kind || e.Child("usage/"+element).Text != "gitvirt/web/chap" {
			t.Errorf("%s: %s", kind, text)
		}
	}
	if _, err := secretXML(render.Secret{Kind: "tls"}, "web"); err == nil {
		t.Error("an unknown type is taken")
	}
}
