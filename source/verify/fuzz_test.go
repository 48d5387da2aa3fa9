package verify

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

func FuzzReadSigners(f *testing.F) {
	f.Add([]byte("alice@example.org,!*bob namespaces=\"git,fi\\\"le\",valid-after=\"20260101Z\",cert-authority " + someKey + " c\n# x\n"))
	f.Add([]byte("\"alice,b\" valid-before=\"20260101\",valid-after=\"202501011200\" " + someKey))
	f.Add([]byte(someKey))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadSigners("file", data, time.UTC)
		if err != nil && !strings.Contains(err.Error(), "file:") {
			t.Errorf("no place: %v", err)
		}
		if err == nil {
			for _, l := range s.lines {
				if _, err := s.find(l.key, time.Unix(1e9, 0)); err != nil && err.Error() == "" {
					t.Error("no reason")
				}
			}
		}
		if _, err := ReadRevoked("file", data); err != nil && !strings.Contains(err.Error(), "file") {
			t.Errorf("no place: %v", err)
		}
	})
}

const someCommit = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\ngpgsig -----BEGIN SSH SIGNATURE-----\n U1NI\n -----END SSH SIGNATURE-----\nencoding x\n\nmessage\n"

// FuzzSplitCommit wants every byte in the payload or in a signature, and nothing in both.
func FuzzSplitCommit(f *testing.F) {
	f.Add([]byte(someCommit))
	f.Add([]byte(strings.Replace(someCommit, "encoding x", "gpgsig-sha256 a\n b\nmergetag object x\n gpgsig y", 1)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		c, err := SplitCommit(raw)
		if !bytes.Equal(raw, before) {
			t.Fatal("the object was changed")
		}
		if err != nil && !errors.Is(err, ErrUnsigned) {
			return
		}
		if !bytes.HasPrefix(c.Payload, []byte("tree "+c.Tree+"\n")) || bytes.Contains(c.Payload, []byte("\ngpgsig ")) && !bytes.Contains(raw[bytes.Index(raw, []byte("\n\n")):], []byte("\ngpgsig ")) {
			t.Errorf("payload %q", c.Payload)
		}
		if err != nil {
			if !bytes.Contains(raw, []byte("\ngpgsig-sha256 ")) && !bytes.Equal(c.Payload, raw) {
				t.Errorf("payload %q of %q", c.Payload, raw)
			}
			return
		}
		folded := withSignature(c.Payload, string(c.Signature))
		if !bytes.Contains(raw, []byte("\ngpgsig-sha256 ")) && len(folded) != len(raw) {
			t.Errorf("%q is not %q and its signature %q", raw, c.Payload, c.Signature)
		}
		if _, err := (Keys{}).Check(c.Signed, time.Now()); err == nil {
			t.Error("without keys it counts")
		}
	})
}

func FuzzSplitTag(f *testing.F) {
	f.Add([]byte("object 4b825dc642cb6eb9a060e54bf8d69288fbee4904\ntype commit\ntag v1\ntagger C <c@d> 2 +0000\n\nmessage\n-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tag, err := SplitTag(raw)
		if err != nil && !errors.Is(err, ErrUnsigned) {
			return
		}
		if got := string(tag.Payload) + string(tag.Signature); got != string(raw) {
			t.Errorf("%q is not %q", got, raw)
		}
		if _, err := (Keys{}).Check(tag.Signed, time.Now()); err == nil {
			t.Error("without keys it counts")
		}
	})
}

// newKey is a key that signs, and what it signed.
func newKey(t testing.TB) (ring []byte, signed Signed) {
	e, err := openpgp.NewEntity("alice", "", "alice@example.org", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	var public, sig bytes.Buffer
	if err := e.Serialize(&public); err != nil {
		t.Fatal(err)
	}
	signed.Payload = []byte(someCommit)
	if err := openpgp.ArmoredDetachSign(&sig, e, bytes.NewReader(signed.Payload), nil); err != nil {
		t.Fatal(err)
	}
	signed.Signature = append(sig.Bytes(), '\n')
	return public.Bytes(), signed
}

func FuzzReadKeyring(f *testing.F) {
	ring, signed := newKey(f)
	k, err := ReadKeyring("file", ring)
	if err != nil {
		f.Fatal(err)
	}
	if who, err := (Keys{OpenPGP: k}).Check(signed, time.Now()); err != nil {
		f.Fatalf("%v: %v", who, err)
	}
	f.Add(ring)
	f.Add([]byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n" + base64.StdEncoding.EncodeToString(ring) + "\n-----END PGP PUBLIC KEY BLOCK-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if k, err := ReadKeyring("file", data); err == nil {
			if who, err := (Keys{OpenPGP: k}).Check(signed, time.Now()); err == nil && who.Name != "alice <alice@example.org>" {
				t.Errorf("signed by %v", who)
			}
		} else if !strings.Contains(err.Error(), "keyring file: ") {
			t.Errorf("%v", err)
		}
	})
}

// FuzzCheck changes signatures and what they sign.
func FuzzCheck(f *testing.F) {
	ring, signed := newKey(f)
	k, err := ReadKeyring("file", ring)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(signed.Payload, signed.Signature)
	f.Add(signed.Payload, []byte("-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, payload, signature []byte) {
		who, err := Keys{OpenPGP: k, SSH: &Signers{}}.Check(Signed{Payload: payload, Signature: signature}, time.Now())
		if err == nil && !bytes.Equal(payload, signed.Payload) {
			t.Errorf("%q is signed by %v", payload, who)
		}
	})
}
