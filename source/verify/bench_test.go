package verify

import (
	"testing"
	"time"
)

// BenchmarkCheck is one commit, cut apart and its signature checked.
func BenchmarkCheck(b *testing.B) {
	w := newWorkshop(b)
	signers, err := ReadSigners("signers", []byte("a "+w.sshKey("a", "ed25519")+"\nb "+w.sshKey("b", "rsa")), time.UTC)
	if err != nil {
		b.Fatal(err)
	}
	fingerprint := w.pgpKey("ed", "ed25519", "sign", "never")
	w.gpg("--output", w.path("ring"), "--export", fingerprint)
	ring, err := ReadKeyring("ring", []byte(w.read("ring")))
	if err != nil {
		b.Fatal(err)
	}
	keys := Keys{OpenPGP: ring, SSH: signers}
	for _, tt := range []struct {
		name string
		raw  []byte
	}{
		{"SSH ed25519", w.commit("2026-06-15T12:00:00Z", "-c", "gpg.format=ssh", "-c", "user.signingkey="+w.path("a"))},
		{"SSH RSA", w.commit("2026-06-15T12:00:00Z", "-c", "gpg.format=ssh", "-c", "user.signingkey="+w.path("b"))},
		{"OpenPGP ed25519", w.commit("2026-06-15T12:00:00Z", "-c", "user.signingkey="+fingerprint, "-c", w.gpgWith("g"))},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				c, err := SplitCommit(tt.raw)
				if err == nil {
					_, err = keys.Check(c.Signed, time.Now())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("git verify-commit", func(b *testing.B) {
		w.write("signers", "a "+w.read("a.pub"))
		commit := w.store("commit", w.commit("2026-06-15T12:00:00Z", "-c", "gpg.format=ssh", "-c", "user.signingkey="+w.path("a")))
		for b.Loop() {
			w.run("git", "-c", "gpg.ssh.allowedSignersFile="+w.path("signers"), "verify-commit", commit)
		}
	})
}
