package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// seal encrypts a text to new keys.
func seal(t testing.TB, text string, armored bool, recipients ...age.Recipient) []byte {
	t.Helper()
	var b bytes.Buffer
	var out io.WriteCloser = struct {
		io.Writer
		io.Closer
	}{&b, io.NopCloser(nil)}
	if armored {
		out = armor.NewWriter(&b)
	}
	w, err := age.Encrypt(out, recipients...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if armored {
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func keys(t testing.TB, n int) []age.Recipient {
	t.Helper()
	var all []age.Recipient
	for range n {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, id.Recipient())
	}
	return all
}

// TestValuesShowNothing: whichever way a value is printed or encoded.
func TestValuesShowNothing(t *testing.T) {
	const canary = "canary"
	v, files := NewValue([]byte(canary)), Files{"user-data": []byte(canary)}
	holder := struct {
		V Value
		P *Value
		F Files
		L []Value
		u Value
		m map[string]Value
	}{v, &v, files, []Value{v}, v, map[string]Value{"a": v}}
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("x", "value", v, "files", files, "all", holder)
	}
	shown := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown += fmt.Sprintf(verb+verb+verb, v, files, holder)
	}
	encoded, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	shown += string(encoded) + fmt.Sprint(errors.New(fmt.Sprint(v)))
	for _, form := range []string{canary, "63616e617279", "Y2FuYXJ5", "99 97 110"} {
		if strings.Contains(shown, form) {
			t.Errorf("%q is shown:\n%s", form, shown)
		}
	}
	if string(v.Bytes()) != canary {
		t.Error("the value is lost")
	}
}

func TestTokens(t *testing.T) {
	one := Token([]byte("key"), []byte("value"))
	if one != Token([]byte("key"), []byte("value")) || one == Token([]byte("key"), []byte("other")) || one == Token([]byte("other"), []byte("value")) {
		t.Error("a token is not of key and value")
	}
	for text, want := range map[string]bool{one: true, "hmac:": false, "hmac:zz": false, "": false, one + "0": false, strings.ToUpper(one): false} {
		if IsToken(text) != want {
			t.Errorf("IsToken(%q) = %v", text, !want)
		}
	}
}

func TestEnvelope(t *testing.T) {
	pass, err := age.NewScryptRecipient("x")
	if err != nil {
		t.Fatal(err)
	}
	pass.SetWorkFactor(1)
	good := seal(t, "text", false, keys(t, 1)...)
	for name, tt := range map[string]struct {
		file []byte
		want string
		err  string
	}{
		"binary":         {file: good, want: "X25519"},
		"armored":        {file: seal(t, "text", true, keys(t, 3)...), want: "3 × X25519"},
		"passphrase":     {file: seal(t, "text", false, pass), want: "a passphrase"},
		"plain":          {file: []byte("password\n"), err: "is not encrypted with age"},
		"empty":          {err: "is not encrypted with age"},
		"sops":           {file: []byte("stringData: {a: ENC[AES256_GCM]}\nsops: {}\n"), err: "is not encrypted with age"},
		"cut off":        {file: good[:60], err: "header has no end"},
		"no recipient":   {file: []byte(ageIntro + "--- x\n"), err: "without a recipient"},
		"armor cut off":  {file: []byte(armorIntro + "\nYWdl\n"), err: "without its end"},
		"armor damaged":  {file: []byte(armorIntro + "\n!!\n-----END AGE ENCRYPTED FILE-----\n"), err: "no base64"},
		"too large":      {file: make([]byte, MaxFile+1), err: "at most"},
		"control letter": {file: []byte(ageIntro + "-> \x1b[31m x\n--- x\n"), want: "another kind of key"},
	} {
		e, err := ReadEnvelope(tt.file)
		if e.String() != tt.want && err == nil || tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %q, %v", name, e, err)
		}
	}
}

func TestFind(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {userdata: aGlkZGVu, broken: '!!'}\nstringData: {b: text}\n"
	for name, tt := range map[string]struct {
		content, key string
		usual        []string
		want, err    string
	}{
		"whole":            {content: "#cloud-config\n", want: "#cloud-config\n"},
		"whole with a key": {content: "#cloud-config\n", key: "a", err: "no Secret manifest"},
		"said":             {content: secret, key: "b", want: "text"},
		"usual":            {content: secret, usual: []string{"userdata", "userData"}, want: "hidden"},
		"unsaid":           {content: secret, err: "3 keys"},
		"only":             {content: "apiVersion: v1\nkind: Secret\nstringData: {b: text}\n", want: "text"},
		"missing":          {content: secret, key: "c", err: `without the key "c"`},
		"no base64":        {content: secret, key: "broken", err: "no base64"},
		"another Secret":   {content: "apiVersion: v2\nkind: Secret\nstringData: {b: text}\n", want: "apiVersion: v2\nkind: Secret\nstringData: {b: text}\n"},
	} {
		got, err := Find(NewValue([]byte(tt.content)), tt.key, tt.usual...)
		if string(got.Bytes()) != tt.want || tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %q, %v", name, got.Bytes(), err)
		}
		if err != nil && (strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "text")) {
			t.Errorf("%s: the error tells a value: %v", name, err)
		}
	}
	if got := NewValue([]byte("a \r\n")).Line().Bytes(); string(got) != "a " {
		t.Errorf("a line is %q", got)
	}
}

// FuzzEnvelope: what is said of a file, which anybody may have written, is one short line of ordinary letters.
func FuzzEnvelope(f *testing.F) {
	f.Add(seal(f, "text", false, keys(f, 2)...))
	f.Add(seal(f, "text", true, keys(f, 1)...))
	f.Add([]byte(ageIntro + "-> ssh-ed25519 abcdef x\n--- x\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		e, err := ReadEnvelope(file)
		if said := fmt.Sprint(e, err); len(said) > 4000*maxStanzas || strings.ContainsFunc(said, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%q", said)
		}
		if err == nil && len(e.Recipients) == 0 {
			t.Error("a file that nobody can open is good")
		}
	})
}

func FuzzFind(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: Secret\nstringData: {b: text}\n"), "b")
	f.Add([]byte("apiVersion: v1\nkind: Secret\ndata: {b: '!canary!'}\n"), "")
	f.Fuzz(func(t *testing.T, content []byte, key string) {
		v, err := Find(NewValue(content), key)
		if err != nil && !v.IsEmpty() {
			t.Error("a value and an error")
		}
		if err == nil && key == "" && !bytes.Contains(content, []byte("Secret")) && !bytes.Equal(v.Bytes(), content) {
			t.Errorf("%q of %q", v.Bytes(), content)
		}
	})
}
