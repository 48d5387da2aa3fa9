package verify

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// Keys are what is trusted. A nil field trusts none of its kind.
type Keys struct {
	OpenPGP *Keyring
	SSH     *Signers
	// Revoked are SSH keys that count no more, whatever the signers' file says.
	Revoked *Revoked
}

// Signer is whose key made a signature.
type Signer struct {
	// Key is the kind and the fingerprint: "SSH key SHA256:…", "OpenPGP key …", with the letters and digits that
	// ssh-keygen -l and gpg --fingerprint show.
	Key string
	// Name is the principal, or the key's first user ID.
	Name string
}

func (s Signer) String() string {
	if s.Name == "" {
		return s.Key
	}
	return fmt.Sprintf("%s (%s)", s.Key, s.Name)
}

const (
	beginPGP  = "-----BEGIN PGP SIGNATURE-----\n"
	endPGP    = "-----END PGP SIGNATURE-----"
	beginSSH  = "-----BEGIN SSH SIGNATURE-----\n"
	endSSH    = "-----END SSH SIGNATURE-----"
	beginX509 = "-----BEGIN SIGNED MESSAGE-----\n"
)

// Check returns who signed. The error says why the signature does not count, and names the key if that is known.
//
// Now is the time at which OpenPGP keys and signatures must not have expired, as for gpg. The zero time leaves that out,
// for what was verified once already: that a key ends does not undo what it signed while it was valid. SSH keys must be
// valid at the time that the commit or tag says, as for git.
func (k Keys) Check(s Signed, now time.Time) (_ Signer, err error) {
	// What is read comes from whoever may push. A fault in a library must not end the program.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its signature cannot be read: %v", p)
		}
	}()
	sig := s.Signature
	switch {
	case len(sig) == 0:
		return Signer{}, ErrUnsigned
	case bytes.HasPrefix(sig, []byte(beginPGP)):
		if err := oneBlock(sig, beginPGP, endPGP); err != nil {
			return Signer{}, err
		}
		return k.OpenPGP.check(s, now)
	case bytes.HasPrefix(sig, []byte(beginSSH)):
		if err := oneBlock(sig, beginSSH, endSSH); err != nil {
			return Signer{}, err
		}
		return k.checkSSH(s)
	case bytes.HasPrefix(sig, []byte(beginX509)):
		return Signer{}, errors.New("it is signed with an X.509 certificate, which is not supported: sign with OpenPGP or SSH")
	}
	return Signer{}, errors.New("its signature is of a kind that is not known: sign with OpenPGP or SSH")
}

// oneBlock wants one armoured block and nothing after it.
func oneBlock(sig []byte, begin, end string) error {
	body := bytes.TrimRight(sig[len(begin):], "\n")
	if !bytes.HasSuffix(body, []byte("\n"+end)) || bytes.Contains(body[:len(body)-len(end)], []byte("\n-----")) {
		return errors.New("its signature is damaged: it must be one armoured block and nothing else")
	}
	return nil
}
