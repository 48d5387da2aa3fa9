package verify

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestTampered changes signed commits, and wants none of them to count. Where git would take one, it is said.
func TestTampered(t *testing.T) {
	w := newWorkshop(t)
	ssh := w.sshKey("a", "ed25519")
	w.write("signers", "alice "+ssh)
	fingerprint := w.pgpKey("ed", "ed25519", "sign", "never")
	w.gpg("--output", w.path("ring"), "--export", fingerprint)
	w.run("git", "commit", "-q", "--allow-empty", "-m", "Before")
	byPGP := w.commit("2026-06-15T12:00:00Z", "-c", "user.signingkey="+fingerprint, "-c", w.gpgWith("g"))
	bySSH := w.commit("2026-06-15T12:00:00Z", "-c", "gpg.format=ssh", "-c", "user.signingkey="+w.path("a"))
	other := w.commit("2026-06-15T12:00:01Z", "-c", "gpg.format=ssh", "-c", "user.signingkey="+w.path("a"))

	var keys Keys
	var err error
	if keys.OpenPGP, err = ReadKeyring("ring", []byte(w.read("ring"))); err != nil {
		t.Fatal(err)
	}
	if keys.SSH, err = ReadSigners("signers", []byte(w.read("signers")), time.UTC); err != nil {
		t.Fatal(err)
	}
	check := func(raw []byte) error {
		c, err := SplitCommit(raw)
		if err == nil {
			_, err = keys.Check(c.Signed, time.Now())
		}
		return err
	}
	replace := func(old, to string) func([]byte) []byte {
		return func(raw []byte) []byte {
			if !bytes.Contains(raw, []byte(old)) {
				t.Fatalf("there is no %q in %s", old, raw)
			}
			return bytes.Replace(raw, []byte(old), []byte(to), 1)
		}
	}
	sigOf := func(raw []byte) string {
		c, err := SplitCommit(raw)
		if err != nil {
			t.Fatal(err)
		}
		return string(withSignature([]byte("\n\n"), string(c.Signature))[1 : 1+len("gpgsig ")+len(c.Signature)+bytes.Count(c.Signature, []byte("\n"))-1])
	}
	for _, tt := range []struct {
		name     string
		change   func(raw []byte) []byte
		good     bool
		stricter bool // than git
	}{
		{"as it is", func(raw []byte) []byte { return raw }, true, false},
		{"another message", replace("Say", "Said"), false, false},
		{"another end of the message", func(raw []byte) []byte { return append(raw[:len(raw):len(raw)], '\n') }, false, false},
		{"no end of the message", func(raw []byte) []byte { return raw[:len(raw)-1] }, false, false},
		{"another tree", replace("tree 4b", "tree 4c"), false, false},
		{"another parent", replace("\nauthor", "\nparent "+strings.Repeat("1", 40)+"\nauthor"), false, false},
		{"another time", replace("1781524800", "1781524801"), false, false},
		{"a mergetag that was not signed", replace("\n\nSay", "\nmergetag object "+strings.Repeat("1", 40)+"\n type commit\n\nSay"), false, false},
		{"a header that was not signed", replace("\n\nSay", "\nencoding latin1\n\nSay"), false, false},
		{"an empty longer signature", replace("\n\nSay", "\ngpgsig-sha256 x\n y\n\nSay"), true, false},
		{"two longer signatures", replace("\n\nSay", "\ngpgsig-sha256 x\ngpgsig-sha256 y\n\nSay"), false, true},
		{"a header like a signature's", replace("\n\nSay", "\ngpgsigs x\n\nSay"), false, true},
		{"the signature of another commit", func(raw []byte) []byte {
			return bytes.Replace(raw, []byte(sigOf(raw)), []byte(sigOf(other)), 1)
		}, false, false},
		{"signed twice", func(raw []byte) []byte {
			return bytes.Replace(raw, []byte("\n\nSay"), []byte("\n"+sigOf(raw)+"\nSay"), 1)
		}, false, true},
		{"something after the signature", replace(" SIGNATURE-----\n\n", " SIGNATURE-----\n \n tree "+strings.Repeat("1", 40)+"\n\n"), false, true},
		{"a second block", func(raw []byte) []byte {
			sig, _ := SplitCommit(raw)
			return replace("\n\nSay", "\n "+strings.ReplaceAll(strings.TrimSpace(string(sig.Signature)), "\n", "\n ")+"\n\nSay")(raw)
		}, false, true},
		{"a tree within the signature", replace("\ngpgsig ", "\ngpgsig tree "+strings.Repeat("1", 40)+"\n "), false, true},
		{"a tree behind the signature", replace("\n\nSay", "\ntree "+strings.Repeat("1", 40)+"\n\nSay"), false, false},
		{"no signature", func(raw []byte) []byte { return bytes.Replace(raw, []byte(sigOf(raw)), nil, 1) }, false, false},
		{"half a signature", replace("\n -----END", "\n\n -----END"), false, false},
		{"a carriage return", replace("\nauthor", "\r\nauthor"), false, false},
		{"a zero", replace("author A", "author \x00A"), false, false},
		{"an X.509 signature", replace("gpgsig -----BEGIN ", "gpgsig -----BEGIN SIGNED MESSAGE-----\n -----BEGIN "), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for kind, raw := range map[string][]byte{"OpenPGP": byPGP, "SSH": bySSH} {
				changed := tt.change(raw)
				if err := check(changed); (err == nil) != tt.good {
					t.Errorf("%s: %v", kind, err)
				} else if tt.name == "no signature" && !errors.Is(err, ErrUnsigned) {
					t.Errorf("%s: %v", kind, err)
				}
				out, err := w.command("git", "-c", "gpg.ssh.allowedSignersFile="+w.path("signers"), "verify-commit", w.store("commit", changed)).CombinedOutput()
				if err == nil && !tt.good && !tt.stricter {
					t.Errorf("%s: git takes it: %s", kind, out)
				}
				if err != nil && tt.good {
					t.Errorf("%s: git does not take it: %s", kind, out)
				}
			}
		})
	}
	// A merge of a signed tag has all of the tag in a header, its signature included.
	w.run("git", "checkout", "-q", "-b", "side", "HEAD~2")
	w.run("git", "commit", "-q", "--allow-empty", "-m", "Side")
	w.run("git", "-c", "gpg.format=ssh", "-c", "user.signingkey="+w.path("a"), "tag", "-s", "-m", "Tag", "t1")
	w.run("git", "checkout", "-q", "main")
	w.run("git", "-c", "gpg.format=ssh", "-c", "user.signingkey="+w.path("a"), "merge", "-q", "-S", "--no-ff", "--no-edit", "t1")
	merge := w.object("HEAD")
	if err := check(merge); err != nil || !bytes.Contains(merge, []byte("mergetag")) {
		t.Errorf("a merge of a signed tag: %v\n%s", err, merge)
	}
	if c, err := SplitCommit(merge); err != nil || len(c.Parents) != 2 || c.Tree != w.run("git", "rev-parse", "HEAD^{tree}") {
		t.Errorf("a merge: %+v, %v", c, err)
	}
	if err := check(replace("Tag\n", "Gat\n")(merge)); err == nil {
		t.Error("the mergetag is not covered")
	}
}

// TestTagsAsGit asks git and us about the same tags.
func TestTagsAsGit(t *testing.T) {
	w := newWorkshop(t)
	w.write("signers", "alice "+w.sshKey("a", "ed25519"))
	w.sshKey("b", "ed25519")
	w.run("git", "commit", "-q", "--allow-empty", "-m", "Say")
	signers, err := ReadSigners("signers", []byte(w.read("signers")), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	tag := func(name, key, message string) []byte {
		w.run("git", "-c", "gpg.format=ssh", "-c", "user.signingkey="+w.path(key), "tag", "-s", "-m", message, name)
		return w.object(name)
	}
	one := tag("v1", "a", "One")
	quoting := tag("v2", "a", "Two quotes\n\n"+string(one))
	w.run("git", "tag", "-a", "-m", "None", "v3")
	for _, tt := range []struct {
		name           string
		raw            []byte
		good, stricter bool
	}{
		{"signed", one, true, false},
		{"quotes a signature", quoting, true, false},
		{"signed with another key", tag("v4", "b", "Four"), false, false},
		{"not signed", w.object("v3"), false, false},
		{"another name", bytes.Replace(one, []byte("tag v1"), []byte("tag v9"), 1), false, false},
		{"another object", bytes.Replace(one, []byte(w.run("git", "rev-parse", "HEAD")), []byte(strings.Repeat("1", 40)), 1), false, false},
		{"another message", bytes.Replace(one, []byte("One"), []byte("Two"), 1), false, false},
		{"something after", append(one[:len(one):len(one)], "more\n"...), false, true},
		{"a header that was not signed", bytes.Replace(one, []byte("\n\nOne"), []byte("\ngpgsig-sha256 x\n\nOne"), 1), false, true},
		{"no tagger", []byte("object " + strings.Repeat("1", 40) + "\ntype commit\ntag v1\n\nOne\n"), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			split, err := SplitTag(tt.raw)
			if err == nil {
				_, err = Keys{SSH: signers}.Check(split.Signed, time.Now())
			}
			if (err == nil) != tt.good {
				t.Errorf("%v", err)
			}
			if tt.good && (split.Object != w.run("git", "rev-parse", "HEAD") || split.Type != "commit" || split.Name == "" || split.Time.IsZero()) {
				t.Errorf("%+v", split)
			}
			out, err := w.command("git", "-c", "gpg.ssh.allowedSignersFile="+w.path("signers"), "verify-tag", w.store("tag", tt.raw)).CombinedOutput()
			if err == nil && !tt.good && !tt.stricter || err != nil && tt.good {
				t.Errorf("git: %v: %s", err, out)
			}
		})
	}
}
