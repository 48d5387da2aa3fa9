package verify

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// gpg runs gpg with the keys that sign.
func (w *workshop) gpg(words ...string) string {
	w.t.Helper()
	return w.run(append([]string{"gpg", "--batch", "--quiet", "--yes", "--pinentry-mode", "loopback", "--passphrase", ""}, words...)...)
}

// pgpKey makes a key and returns its fingerprint.
func (w *workshop) pgpKey(name, algorithm, usage, expire string, options ...string) string {
	w.t.Helper()
	w.gpg(append(options, "--quick-gen-key", name+" <"+name+"@example.org>", algorithm, usage, expire)...)
	return w.fingerprints(name)[0]
}

// fingerprints are those of a key and its subkeys.
func (w *workshop) fingerprints(name string) (list []string) {
	w.t.Helper()
	for line := range strings.Lines(w.gpg("--with-colons", "--list-keys", name+"@example.org")) {
		if f := strings.Split(line, ":"); f[0] == "fpr" {
			list = append(list, f[9])
		}
	}
	return list
}

// gpgWith is a gpg for git that is called with further options.
func (w *workshop) gpgWith(name string, options ...string) string {
	return "gpg.program=" + w.write(name, "#!/bin/sh\nexec gpg --batch --quiet --pinentry-mode loopback --passphrase '' "+strings.Join(options, " ")+" \"$@\"\n")
}

// revoke puts a key's revocation into its keyring.
func (w *workshop) revoke(fingerprint string) {
	w.t.Helper()
	text := w.read("gpg/openpgp-revocs.d/" + fingerprint + ".rev")
	w.write("revocation", strings.Replace(text, ":-----BEGIN", "-----BEGIN", 1))
	w.gpg("--import", w.path("revocation"))
}

// pgpWorkshop is a workshop with keys of all sorts and a commit by each.
func pgpWorkshop(t testing.TB) (w *workshop, signed map[string][]byte) {
	w = newWorkshop(t)
	signed = map[string][]byte{}
	sign := func(name, key string, options ...string) {
		signed[name] = w.commit("2026-06-15T12:00:00Z", "-c", "user.signingkey="+key+"!", "-c", w.gpgWith("gpg-"+strings.ReplaceAll(name, " ", "-"), options...))
	}
	sign("ed25519", w.pgpKey("ed", "ed25519", "sign", "never"))
	sign("rsa", w.pgpKey("rsa", "rsa2048", "sign", "never"))
	sign("SHA-1", w.fingerprints("rsa")[0], "--digest-algo", "SHA1")
	sign("text", w.fingerprints("rsa")[0], "--textmode")
	sign("SHA-512", w.fingerprints("rsa")[0], "--digest-algo", "SHA512")
	sign("nistp256", w.pgpKey("nist", "nistp256", "sign", "never"))
	sign("foreign", w.pgpKey("foreign", "ed25519", "sign", "never"))
	// Its primary key certifies only.
	sub := w.pgpKey("sub", "ed25519", "cert", "never")
	for range 2 {
		w.gpg("--quick-add-key", sub, "ed25519", "sign", "never")
	}
	f := w.fingerprints("sub")
	sign("subkey", f[1])
	sign("revoked subkey", f[2])
	c := w.command("gpg", "--no-tty", "--quiet", "--command-fd", "0", "--status-fd", "1", "--pinentry-mode", "loopback", "--passphrase", "", "--edit-key", sub)
	c.Stdin = strings.NewReader("key 2\nrevkey\ny\n0\n\ny\nsave\n")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("gpg: %v: %s", err, out)
	}
	revoked := w.pgpKey("revoked", "ed25519", "sign", "never")
	sign("revoked", revoked)
	w.revoke(revoked)
	then := []string{"--faked-system-time", "20200101T000000"}
	sign("expired", w.pgpKey("old", "ed25519", "sign", "1y", then...), then...)
	late := w.pgpKey("late", "ed25519", "sign", "never")
	sign("before the key", late, "--faked-system-time", "20200101T000000", "--ignore-time-conflict", "--ignore-valid-from")
	sign("signature that expired", w.fingerprints("rsa")[0], "--faked-system-time", time.Now().UTC().Add(5*time.Minute).Format("20060102T150405"), "--default-sig-expire", "1d")
	encrypts := w.pgpKey("multi", "ed25519", "sign", "never")
	w.gpg("--quick-add-key", encrypts, "cv25519", "encr", "never")
	sign("primary beside an encryption key", encrypts)
	w.gpg("--armor", "--output", w.path("keyring.asc"), "--export", "ed@", "rsa@", "nist@", "sub@", "revoked@", "old@", "late@", "multi@")
	w.gpg("--output", w.path("keyring.gpg"), "--export", "ed@", "rsa@", "nist@", "sub@", "revoked@", "old@", "late@", "multi@")
	w.gpg("--armor", "--output", w.path("foreign.asc"), "--export", "foreign@")
	w.run("gpg", "--batch", "--quiet", "--homedir", w.path("trusted"), "--import", w.path("keyring.asc"))
	return w, signed
}

// TestOpenPGPAsGit asks git and us about the same commits, with the same keys.
func TestOpenPGPAsGit(t *testing.T) {
	w, signed := pgpWorkshop(t)
	cases := []struct {
		by   string
		good bool
		// stricter than git: gpg 2.2 takes it.
		stricter bool
		// loaded: good for what was verified once before.
		loaded bool
		says   string
	}{
		{by: "ed25519", good: true, loaded: true},
		{by: "rsa", good: true, loaded: true},
		{by: "SHA-512", good: true, loaded: true},
		{by: "nistp256", good: true, loaded: true},
		{by: "subkey", good: true, loaded: true},
		{by: "primary beside an encryption key", good: true, loaded: true},
		{by: "revoked subkey", says: "revoked"},
		{by: "revoked", says: "revoked"},
		{by: "expired", loaded: true, says: "has expired: extend it"},
		{by: "before the key", says: "not valid when that was signed"},
		{by: "foreign", says: "does not list"},
		{by: "SHA-1", stricter: true, says: "SHA-1, which can be forged"},
		{by: "text", stricter: true, says: "as text"},
	}
	for _, file := range []string{"keyring.asc", "keyring.gpg"} {
		ring, err := ReadKeyring(file, []byte(w.read(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range cases {
			t.Run(file+"/"+tt.by, func(t *testing.T) {
				out, err := w.command("GNUPGHOME="+w.path("trusted"), "git", "verify-commit", "-v", w.store("commit", signed[tt.by])).CombinedOutput()
				if (err == nil) != (tt.good || tt.stricter) {
					t.Errorf("git: %v: %s", err, out)
				}
				c, err := SplitCommit(signed[tt.by])
				if err != nil {
					t.Fatal(err)
				}
				keys := Keys{OpenPGP: ring}
				who, err := keys.Check(c.Signed, time.Now())
				if (err == nil) != tt.good {
					t.Fatalf("%v: %v", who, err)
				}
				if err != nil && (!strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "OpenPGP key ")) {
					t.Errorf("it says %q", err)
				}
				if err == nil && !strings.Contains(who.Name, "@example.org") {
					t.Errorf("signed by %v", who)
				}
				if _, err := keys.Check(c.Signed, time.Time{}); (err == nil) != tt.loaded {
					t.Errorf("once more, later: %v", err)
				}
				if _, err := (Keys{}).Check(c.Signed, time.Now()); err == nil || !strings.Contains(err.Error(), "no keyring is set") {
					t.Errorf("without a keyring: %v", err)
				}
			})
		}
	}
	t.Run("signature that expired", func(t *testing.T) {
		ring, err := ReadKeyring("keyring.gpg", []byte(w.read("keyring.gpg")))
		if err != nil {
			t.Fatal(err)
		}
		c, err := SplitCommit(signed["signature that expired"])
		if err != nil {
			t.Fatal(err)
		}
		for days, good := range map[int]bool{0: true, 3: false} {
			_, err := Keys{OpenPGP: ring}.Check(c.Signed, time.Now().AddDate(0, 0, days))
			if (err == nil) != good {
				t.Errorf("after %d days: %v", days, err)
			}
		}
	})
	t.Run("keyrings", func(t *testing.T) { badKeyrings(t, w) })
}

// badKeyrings are refused whole.
func badKeyrings(t *testing.T, w *workshop) {
	asc, bin := w.read("keyring.asc"), w.read("keyring.gpg")
	secret := w.gpg("--armor", "--export-secret-keys", "ed@")
	kbx, err := os.ReadFile(w.path("trusted/pubring.kbx"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, data, says string }{
		{"empty", "", "holds no OpenPGP key"},
		{"text", "alice\n", "key 1"},
		{"secret", secret, "PGP PRIVATE KEY BLOCK"},
		{"a database", string(kbx), "gpg's own database"},
		{"cut off", bin[:len(bin)/2], "key "},
		{"armour cut off", asc[:len(asc)/2], "block 1"},
		{"armour damaged", strings.Replace(asc, "\n\nmD", "\n\nnD", 1), "key 1"},
		{"a signature", string(mustSignature(t, w)), "PGP SIGNATURE"},
		{"one key twice", asc + asc, "twice"},
		{"damaged in the middle", bin[:len(bin)/2] + "\xff\xff" + bin[len(bin)/2+2:], "key "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, err := ReadKeyring("the-keyring", []byte(tt.data))
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "the-keyring") {
				t.Errorf("%v, %v", k, err)
			}
		})
	}
	both, err := ReadKeyring("x", []byte("Our keys:\n"+w.read("foreign.asc")+"\nand\n"+asc))
	if err != nil || len(both.keys) != 9 {
		t.Errorf("two blocks: %v", err)
	}
}

func mustSignature(t *testing.T, w *workshop) []byte {
	c, err := SplitCommit(w.object("HEAD"))
	if err != nil {
		t.Fatal(fmt.Errorf("HEAD: %w", err))
	}
	return c.Signature
}
