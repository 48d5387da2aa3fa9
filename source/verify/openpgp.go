package verify

import (
	"bytes"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Keyring is a file of OpenPGP keys. Whoever holds one of them is trusted; certifications by others mean nothing.
type Keyring struct {
	name string
	keys openpgp.EntityList
}

// ReadKeyring reads public keys as gpg --export writes them, armoured or not, also several armoured blocks one after the
// other. A key that cannot be read makes the whole file an error: a revocation could be in what was left out.
func ReadKeyring(name string, data []byte) (*Keyring, error) {
	k := &Keyring{name: name}
	if bytes.HasPrefix(data, []byte("-----")) || bytes.Contains(data, []byte("\n-----BEGIN PGP ")) {
		for n := 1; ; n++ {
			data = skipTo(data, "-----BEGIN ")
			if data == nil {
				break
			}
			block, err := armor.Decode(bytes.NewReader(data))
			if err != nil {
				return nil, fmt.Errorf("cannot read keyring %s: block %d: %w", name, n, err)
			}
			if block.Type != openpgp.PublicKeyType {
				return nil, fmt.Errorf("cannot use keyring %s: block %d is a %s: put public keys there (gpg --armor --export KEY)", name, n, block.Type)
			}
			raw, err := io.ReadAll(block.Body)
			if err != nil {
				return nil, fmt.Errorf("cannot read keyring %s: block %d: %w", name, n, err)
			}
			if data = skipTo(data, "-----END "); data == nil {
				return nil, fmt.Errorf("cannot read keyring %s: block %d has no end", name, n)
			}
			data = data[1:]
			if err := k.read(raw); err != nil {
				return nil, err
			}
		}
	} else {
		if len(data) > 12 && string(data[8:12]) == "KBXf" {
			return nil, fmt.Errorf("cannot use keyring %s: it is gpg's own database: write the keys to a file (gpg --armor --export KEY)", name)
		}
		if err := k.read(data); err != nil {
			return nil, err
		}
	}
	if len(k.keys) == 0 {
		return nil, fmt.Errorf("cannot use keyring %s: it holds no OpenPGP key: write some there (gpg --armor --export KEY)", name)
	}
	return k, nil
}

// skipTo returns data from the first line that begins so; nil when there is none.
func skipTo(data []byte, begin string) []byte {
	if bytes.HasPrefix(data, []byte(begin)) {
		return data
	}
	if i := bytes.Index(data, []byte("\n"+begin)); i >= 0 {
		return data[i+1:]
	}
	return nil
}

// read reads the packets of keys.
func (k *Keyring) read(raw []byte) error {
	packets := packet.NewReader(bytes.NewReader(raw))
	for {
		first, err := packets.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			packets.Unread(first)
			var e *openpgp.Entity
			if e, err = openpgp.ReadEntity(packets); err == nil {
				if e.PrivateKey != nil {
					return fmt.Errorf("cannot use keyring %s: it holds a secret key: put public keys there (gpg --armor --export KEY)", k.name)
				}
				if slices.ContainsFunc(k.keys, func(o *openpgp.Entity) bool { return bytes.Equal(o.PrimaryKey.Fingerprint, e.PrimaryKey.Fingerprint) }) {
					return fmt.Errorf("cannot use keyring %s: it holds key %X twice, and one may be revoked or extended: keep the newer one", k.name, e.PrimaryKey.Fingerprint)
				}
				k.keys = append(k.keys, e)
				continue
			}
		}
		return fmt.Errorf("cannot read keyring %s: key %d: %w; leave it out, or export it again", k.name, len(k.keys)+1, err)
	}
}

// weak are hashes for which two contents with one signature can be made. gpg 2.2 still takes SHA-1.
var weak = map[crypto.Hash]bool{crypto.MD5: true, crypto.SHA1: true, crypto.RIPEMD160: true}

// check is as strict as git, for which a key that has expired or was revoked by now does not count, whatever the time
// that the signature says: who has the key can say any time.
func (k *Keyring) check(s Signed, now time.Time) (Signer, error) {
	sig, err := readSignature(s.Signature)
	if err != nil {
		return Signer{}, fmt.Errorf("its OpenPGP signature is damaged: %w", err)
	}
	signer := Signer{Key: "OpenPGP key " + issuer(sig)}
	fail := func(format string, args ...any) (Signer, error) {
		return signer, fmt.Errorf("it is signed by "+signer.String()+", "+format, args...)
	}
	if k == nil {
		return fail("and no keyring is set")
	}
	e, pub, binding, revoked := k.find(sig)
	if pub == nil {
		return fail("which %s does not list", k.name)
	}
	signer.Key = "OpenPGP key " + strings.ToUpper(hex.EncodeToString(pub.Fingerprint))
	if id := e.PrimaryIdentity(); id != nil {
		signer.Name = id.Name
	}
	if sig.SigType != packet.SigTypeBinary {
		return fail("but as text, not as the bytes that they are")
	}
	if weak[sig.Hash] {
		return fail("with the hash %s, which can be forged: sign with SHA-256 or better", sig.Hash)
	}
	hash, err := sig.PrepareVerify()
	if err != nil {
		return fail("with what cannot be checked: %w", err)
	}
	hash.Write(s.Payload)
	if err := pub.VerifySignature(hash, sig); err != nil {
		return fail("but its content is not what was signed: %w", err)
	}
	self, id := e.PrimarySelfSignature()
	made := sig.CreationTime
	switch {
	case len(e.Revocations) > 0 || revoked:
		return fail("which was revoked")
	case self == nil || id != nil && len(id.Revocations) > 0:
		return fail("which has no user ID that is valid")
	case e.PrimaryKey.KeyExpired(self, made) || pub.KeyExpired(binding, made):
		return fail("which was not valid when that was signed, %s", made.UTC().Format(time.DateTime))
	case binding.SigExpired(made) || self.SigExpired(made):
		return fail("which was not bound to its owner when that was signed, %s", made.UTC().Format(time.DateTime))
	case !binding.FlagsValid || !binding.FlagSign:
		return fail("which is not for signing")
	case now.IsZero():
		return signer, nil
	case e.PrimaryKey.KeyExpired(self, now) || pub.KeyExpired(binding, now):
		return fail("which has expired: extend it, and export it to %s again", k.name)
	case sig.SigExpired(now) && !made.After(now):
		return fail("and the signature has expired")
	}
	return signer, nil
}

// find returns the key that a signature names, the self-signature that says what it is for, and whether it is a subkey
// that was revoked.
func (k *Keyring) find(sig *packet.Signature) (*openpgp.Entity, *packet.PublicKey, *packet.Signature, bool) {
	fits := func(pub *packet.PublicKey) bool {
		if sig.IssuerFingerprint != nil {
			return bytes.Equal(pub.Fingerprint, sig.IssuerFingerprint)
		}
		return sig.IssuerKeyId != nil && pub.KeyId == *sig.IssuerKeyId
	}
	for _, e := range k.keys {
		if fits(e.PrimaryKey) {
			self, _ := e.PrimarySelfSignature()
			return e, e.PrimaryKey, self, false
		}
		for _, sub := range e.Subkeys {
			if fits(sub.PublicKey) {
				return e, sub.PublicKey, sub.Sig, len(sub.Revocations) > 0
			}
		}
	}
	return nil, nil, nil, false
}

func issuer(sig *packet.Signature) string {
	switch {
	case sig.IssuerFingerprint != nil:
		return strings.ToUpper(hex.EncodeToString(sig.IssuerFingerprint))
	case sig.IssuerKeyId != nil:
		return fmt.Sprintf("%016X", *sig.IssuerKeyId)
	}
	return "without a name"
}

// readSignature reads an armoured signature. Of several, as of none, git would take no notice.
func readSignature(armoured []byte) (*packet.Signature, error) {
	block, err := armor.Decode(bytes.NewReader(armoured))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(block.Body)
	if err != nil {
		return nil, err
	}
	packets := packet.NewReader(bytes.NewReader(raw))
	first, err := packets.Next()
	if err != nil {
		return nil, err
	}
	sig, ok := first.(*packet.Signature)
	if !ok {
		return nil, errors.New("it holds something else")
	}
	if _, err := packets.Next(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one signature")
	}
	return sig, nil
}
