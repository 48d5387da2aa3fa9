package verify

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// zone is the time zone of the machine that the tests play, in both spellings.
var zone = time.FixedZone("XST", -5*3600)

const zoneEnv = "TZ=XST+5"

// TestSSHAsGit asks git and us about the same commits, under the same files of allowed signers and revoked keys.
func TestSSHAsGit(t *testing.T) {
	w := newWorkshop(t)
	keys := strings.NewReplacer(
		"{a}", w.sshKey("a", "ed25519"), "{b}", w.sshKey("b", "ed25519"), "{ca}", w.sshKey("ca", "ed25519"),
		"{rsa}", w.sshKey("rsa", "rsa"), "{ecdsa}", w.sshKey("ecdsa", "ecdsa"))
	w.certify("ca", "a", "alice", "-n", "alice@example.org,ops", "-V", "20260101:20270101")
	w.certify("ca", "a", "short", "-n", "alice@example.org", "-V", "20250101:20250201")
	w.certify("ca", "a", "nobody", "-V", "20260101:20270101")
	w.certify("ca", "a", "host", "-h", "-n", "alice@example.org", "-V", "20260101:20270101")
	w.certify("ca", "a", "forced", "-n", "alice@example.org", "-V", "20260101:20270101", "-O", "force-command=true")

	signed := map[string][]byte{}
	for _, name := range []string{"a", "b", "rsa", "ecdsa", "alice-cert", "short-cert", "nobody-cert", "host-cert", "forced-cert"} {
		signed[name] = w.commit("2026-06-15T12:30:30-0500", "-c", "gpg.format=ssh", "-c", "user.signingkey="+w.path(name+".pub"))
	}
	// git signs for git only, so a signature for files is put in by hand.
	signed["for files"] = w.resign(signed["a"], "-n", "file")

	for _, tt := range []struct {
		name, by, signers, revoked string
		good                       bool
		stricter                   bool // than git
		says                       string
	}{
		{name: "listed", by: "a", signers: "alice@example.org {a}", good: true},
		{name: "listed, with a comment", by: "a", signers: "# us\n\nalice@example.org {a} alice's key", good: true},
		{name: "listed after others", by: "a", signers: "bob {b}\nalice {a}", good: true},
		{name: "not listed", by: "a", signers: "bob {b}", says: "does not list"},
		{name: "nobody listed", by: "a", signers: "", says: "does not list"},
		{name: "rsa", by: "rsa", signers: "x {rsa}", good: true},
		{name: "ecdsa", by: "ecdsa", signers: "x {ecdsa}", good: true},
		{name: "principals with wildcards", by: "a", signers: "*@example.org,adm?n {a}", good: true},
		{name: "principals in quotes", by: "a", signers: `"alice,bob" {a}`, good: true},
		{name: "only a negated principal", by: "a", signers: "!alice {a}", says: "does not list"},
		{name: "one that negates itself away", by: "a", signers: "alice,!al* {a}", says: "does not list"},
		{name: "a negation that concerns another", by: "a", signers: "alice,!bob {a}", good: true},
		{name: "everybody but one", by: "a", signers: "*,!bob {a}", good: true},
		{name: "tabs between", by: "a", signers: "alice\t{a}", good: true},
		{name: "Windows line ends", by: "a", signers: "alice {a}\r\n", good: true},
		{name: "namespace git", by: "a", signers: `alice namespaces="git" {a}`, good: true},
		{name: "namespaces with git", by: "a", signers: `alice namespaces="file,git" {a}`, good: true},
		{name: "namespace pattern", by: "a", signers: `alice NameSpaces="g*" {a}`, good: true},
		{name: "another namespace", by: "a", signers: `alice namespaces="file" {a}`, says: "may sign for file only"},
		{name: "not for git", by: "a", signers: `alice namespaces="*,!git" {a}`, says: "may sign for"},
		{name: "for another first, then for git", by: "a", signers: "alice namespaces=\"file\" {a}\nalice namespaces=\"git\" {a}", good: true},
		{name: "for git under another name", by: "a", signers: "alice namespaces=\"file\" {a}\nbob namespaces=\"git\" {a}", says: "may sign for file only"},
		{name: "signed for files", by: "for files", signers: "alice {a}", says: `for "file" and not for git`},
		{name: "after the day", by: "a", signers: `alice valid-after="20260615Z" {a}`, good: true},
		{name: "before the day", by: "a", signers: `alice valid-after="20260616" {a}`, says: "valid after 2026-06-16 00:00:00"},
		{name: "at the second, local", by: "a", signers: `alice valid-after="20260615123030" {a}`, good: true},
		{name: "a second early, local", by: "a", signers: `alice valid-after="20260615123031" {a}`, says: "valid after"},
		{name: "at the minute, UTC", by: "a", signers: `alice valid-after="202606151730Z" {a}`, good: true},
		{name: "a minute early, UTC", by: "a", signers: `alice valid-after="202606151731Z" {a}`, says: "valid after"},
		{name: "until the second, UTC", by: "a", signers: `alice valid-before="20260615173030Z" {a}`, good: true},
		{name: "a second late", by: "a", signers: `alice valid-before="20260615123029" {a}`, says: "valid before"},
		{name: "between", by: "a", signers: `alice valid-after="20260101",valid-before="20270101Z",namespaces="git" {a}`, good: true},
		{name: "a line that has ended, and a new one", by: "a", signers: "alice valid-before=\"20260101\" {a}\nalice2 {a}", good: true},
		{name: "revoked", by: "a", signers: "alice {a}", revoked: "# lost\n{b}\n{a} laptop\n", says: "revoked"},
		{name: "another is revoked", by: "a", signers: "alice {a}", revoked: "{b}\n", good: true},
		{name: "a CA's certificate", by: "alice-cert", signers: "*@example.org cert-authority {ca}", good: true},
		{name: "a CA's certificate, in any spelling", by: "alice-cert", signers: `*@example.org namespaces="git",CERT-Authority {ca}`, good: true},
		{name: "a CA's certificate, its other principal", by: "alice-cert", signers: "bob,ops cert-authority {ca}", good: true},
		{name: "a CA that is no authority", by: "alice-cert", signers: "*@example.org {ca}", says: "does not list"},
		{name: "another CA", by: "alice-cert", signers: "*@example.org cert-authority {b}", says: "does not list"},
		{name: "a CA trusted for others", by: "alice-cert", signers: "*@example.com cert-authority {ca}", says: "principals"},
		{name: "the key of a certificate is listed", by: "alice-cert", signers: "alice@example.org {a}", says: "does not list"},
		{name: "a CA, but no certificate", by: "a", signers: "* cert-authority {ca}", says: "does not list"},
		{name: "a CA's own signature", by: "a", signers: "* cert-authority {a}", says: "does not list"},
		{name: "a CA for other namespaces", by: "alice-cert", signers: `* cert-authority,namespaces="file" {ca}`, says: "may sign for file only"},
		{name: "a CA whose time has ended", by: "alice-cert", signers: `* cert-authority,valid-before="20260101" {ca}`, says: "valid before"},
		{name: "a certificate that had ended", by: "short-cert", signers: "* cert-authority {ca}", says: "expired"},
		{name: "a certificate for nobody", by: "nobody-cert", signers: "* cert-authority {ca}", says: "names no principal"},
		{name: "a host's certificate", by: "host-cert", signers: "* cert-authority {ca}", says: "no user's certificate"},
		{name: "a certificate with a condition", by: "forced-cert", signers: "alice@example.org cert-authority {ca}", stricter: true, says: "force-command"},
		{name: "a certificate whose key is revoked", by: "alice-cert", signers: "*@example.org cert-authority {ca}", revoked: "{a}", says: "revoked"},
		{name: "a certificate whose CA is revoked", by: "alice-cert", signers: "*@example.org cert-authority {ca}", revoked: "{ca}", says: "revoked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			signers, revoked := keys.Replace(tt.signers), keys.Replace(tt.revoked)
			file, lost := w.write("signers", signers), w.write("revoked", revoked)
			out, err := w.command(zoneEnv, "git", "-c", "gpg.ssh.allowedSignersFile="+file, "-c", "gpg.ssh.revocationFile="+lost,
				"verify-commit", "-v", w.store("commit", signed[tt.by])).CombinedOutput()
			if (err == nil) != (tt.good || tt.stricter) {
				t.Errorf("git: %v: %s", err, out)
			}
			c, err := SplitCommit(signed[tt.by])
			if err != nil {
				t.Fatal(err)
			}
			var k Keys
			if k.SSH, err = ReadSigners("signers", []byte(signers), zone); err != nil {
				t.Fatal(err)
			}
			if k.Revoked, err = ReadRevoked("revoked", []byte(revoked)); err != nil {
				t.Fatal(err)
			}
			who, err := k.Check(c.Signed, time.Now())
			if (err == nil) != tt.good {
				t.Fatalf("%v: %v", who, err)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "SHA256:") || tt.says == "") {
				t.Errorf("it says %q", err)
			}
		})
	}
}

// resign replaces a commit's signature by one of the same key that is made otherwise.
func (w *workshop) resign(raw []byte, options ...string) []byte {
	w.t.Helper()
	c, err := SplitCommit(raw)
	if err != nil {
		w.t.Fatal(err)
	}
	file := w.write("payload", string(c.Payload))
	w.run("rm", "-f", file+".sig")
	w.run(append(append([]string{"ssh-keygen", "-q", "-Y", "sign", "-f", w.path("a")}, options...), file)...)
	return withSignature(c.Payload, w.read("payload.sig"))
}

// withSignature puts a signature where git puts it: behind the committer.
func withSignature(payload []byte, sig string) []byte {
	folded := "gpgsig " + strings.ReplaceAll(strings.TrimSuffix(sig, "\n"), "\n", "\n ") + "\n"
	at := bytes.Index(payload, []byte("\n\n")) + 1
	return []byte(string(payload[:at]) + folded + string(payload[at:]))
}

// TestWeakSSHSignature makes a signature with SHA-1, as the ssh-keygen of old did with RSA keys.
func TestWeakSSHSignature(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte(someCommit)
	for algorithm, good := range map[string]bool{ssh.KeyAlgoRSA: false, ssh.KeyAlgoRSASHA256: true, ssh.KeyAlgoRSASHA512: true} {
		digest := sha256.Sum256(payload)
		data := append([]byte("SSHSIG"), ssh.Marshal(struct{ Namespace, Reserved, Hash, Digest string }{"git", "", "sha256", string(digest[:])})...)
		sig, err := signer.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, data, algorithm)
		if err != nil {
			t.Fatal(err)
		}
		armoured := sshsig.Armor(&sshsig.Signature{Version: 1, PublicKey: signer.PublicKey(), Namespace: "git", HashAlgorithm: sshsig.HashSHA256, Signature: sig})
		signers, err := ReadSigners("signers", []byte("alice "+string(ssh.MarshalAuthorizedKey(signer.PublicKey()))), time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		who, err := Keys{SSH: signers}.Check(Signed{Payload: payload, Signature: armoured}, time.Now())
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), `"ssh-rsa"`) {
			t.Errorf("%s: %v, %v", algorithm, who, err)
		}
	}
}
