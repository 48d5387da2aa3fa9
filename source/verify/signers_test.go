package verify

import (
	"strings"
	"testing"
	"time"
)

// someKey is a key that nobody has.
const someKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

func TestSignersFilesThatAreWrong(t *testing.T) {
	for _, tt := range []struct{ name, line, says string }{
		{"one field", "alice", "one field only"},
		{"no key", "alice ssh-ed25519", "options"},
		{"a key alone", someKey, "is no key"},
		{"a key of another type", "alice namespaces=\"git\" " + strings.Replace(someKey, "ed25519", "rsa", 1), "is of type ssh-ed25519"},
		{"a damaged key", "alice namespaces=\"git\" " + someKey[:40], "short read"},
		{"no base64", "alice namespaces=\"git\" ssh-ed25519 !!!!", "no key of type"},
		{"an unknown option", "alice zone=\"x\" " + someKey, "no option"},
		{"an unknown option after a known one", "alice cert-authority,no-touch " + someKey, "no option"},
		{"a comma at the end", "alice cert-authority, " + someKey, "no option"},
		{"no comma", "alice namespaces=\"git\"cert-authority " + someKey, "comma"},
		{"an option twice", "alice namespaces=\"git\",namespaces=\"file\" " + someKey, "twice"},
		{"no quotes", "alice valid-after=20260101 " + someKey, "in quotes"},
		{"a quote that is not closed", "alice namespaces=\"git " + someKey, "not closed"},
		{"principals with a quote that is not closed", "\"alice " + someKey, "not closed"},
		{"an empty value", "alice namespaces=\"\" " + someKey, "empty"},
		{"half a date", "alice valid-after=\"202601\" " + someKey, "no time"},
		{"no such day", "alice valid-after=\"20260231\" " + someKey, "no time"},
		{"a date with a zone", "alice valid-before=\"20260201+01\" " + someKey, "no time"},
		{"ends before it begins", "alice valid-after=\"20260201\",valid-before=\"20260131\" " + someKey, "not after"},
		{"an empty principal", "alice,, " + someKey, "empty one"},
		{"a negation of nothing", "alice,! " + someKey, "empty one"},
		{"binary", "alice \x00 " + someKey, "no text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := "# comment\nalice " + someKey + "\n\n  " + tt.line + "\nbob " + someKey + "\n"
			s, err := ReadSigners("/etc/the-signers", []byte(file), time.UTC)
			if err == nil || !strings.Contains(err.Error(), "/etc/the-signers:4: ") || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

func TestRevokedFilesThatAreWrong(t *testing.T) {
	for _, tt := range []struct{ name, data, says string }{
		{"a binary list", "SSHKRL\n\x00\x00\x00\x00\x01", "(KRL), which is not supported: list the public keys"},
		{"no key", "# lost\n\nalice\n", "the-revoked:3: "},
		{"half a key", someKey + "\n" + someKey[:50] + "\n", "the-revoked:2: "},
		{"allowed signers", "alice " + someKey + "\n", "the-revoked:1: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ReadRevoked("the-revoked", []byte(tt.data))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	w := newWorkshop(t)
	w.sshKey("a", "ed25519")
	w.run("ssh-keygen", "-q", "-k", "-f", w.path("krl"), w.path("a.pub"))
	if _, err := ReadRevoked("krl", []byte(w.read("krl"))); err == nil || !strings.Contains(err.Error(), "KRL") {
		t.Errorf("ssh-keygen's own: %v", err)
	}
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		s, patterns string
		want        bool
	}{
		{"git", "git", true}, {"git", "Git", false}, {"git", "gi", false}, {"git", "*", true}, {"git", "g?t", true}, {"git", "g?", false},
		{"git", "file,git", true}, {"git", "*,!git", false}, {"git", "!git,*", false}, {"git", "!file", false}, {"", "*", true}, {"", "?", false},
		{"alice@example.org", "*@example.org", true}, {"alice@example.org.evil", "*@example.org", false}, {"aaab", "*a*b", true}, {"abcabd", "a*bd", true},
		{"a[b]", "a[b]", true}, {"ab", "a[b]", false}, {strings.Repeat("a", 200), strings.Repeat("*a", 100) + "b", false},
	} {
		if got := matches(tt.s, tt.patterns); got != tt.want {
			t.Errorf("matches(%q, %q) = %v", tt.s, tt.patterns, got)
		}
	}
}
