package verify

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// namespace is what git signs for. A signature that was made for files or for another program is none of a commit.
const namespace = "git"

// checkSSH verifies a signature as ssh-keygen -Y verify does (PROTOCOL.sshsig of OpenSSH), for the principals that
// ssh-keygen -Y find-principals finds for its key, which is how git asks it. The time is the one that the commit or tag
// says.
func (k Keys) checkSSH(s Signed) (Signer, error) {
	sig, err := sshsig.Unarmor(s.Signature)
	if err != nil {
		return Signer{}, fmt.Errorf("its SSH signature is damaged: %w", err)
	}
	signer := Signer{Key: "SSH " + describe(sig.PublicKey)}
	fail := func(format string, args ...any) (Signer, error) {
		return signer, fmt.Errorf("it is signed by "+signer.String()+", "+format, args...)
	}
	if k.SSH == nil {
		return fail("and no file of allowed signers is set")
	}
	if sig.Namespace != namespace {
		return fail("but for %.40q and not for git", sig.Namespace)
	}
	if !slices.Contains(strong, sig.Signature.Format) {
		return fail("with %.40q, which can be forged or is not known: sign with an Ed25519, ECDSA or RSA key and a newer ssh-keygen", sig.Signature.Format)
	}
	if err := sshsig.Verify(bytes.NewReader(s.Payload), sig, sig.PublicKey, sig.HashAlgorithm, namespace); err != nil {
		return fail("but its content is not what was signed: %w", err)
	}
	if k.Revoked.has(sig.PublicKey) {
		return fail("which %s lists as revoked", k.Revoked.name)
	}
	name, err := k.SSH.find(sig.PublicKey, s.Time)
	if err != nil {
		return fail("%w", err)
	}
	signer.Name = name
	return signer, nil
}

// describe names a key as ssh-keygen -l does.
func describe(key ssh.PublicKey) string {
	if c, ok := key.(*ssh.Certificate); ok {
		return fmt.Sprintf("certificate %.60q for key %s by CA %s", c.KeyId, ssh.FingerprintSHA256(c.Key), ssh.FingerprintSHA256(c.SignatureKey))
	}
	return "key " + ssh.FingerprintSHA256(key)
}

// strong are the algorithms of signatures that count: those without SHA-1, which DSA keys and old RSA signatures use.
var strong = []string{
	ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256,
	ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512,
}

func plainKey(key ssh.PublicKey) ssh.PublicKey {
	if c, ok := key.(*ssh.Certificate); ok {
		return c.Key
	}
	return key
}

func sameKey(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }

// find returns the principal that a key may sign as at a time. As git does it, the first line that lists the key then
// says which principals are tried, and any line may allow one of them.
func (s *Signers) find(key ssh.PublicKey, at time.Time) (string, error) {
	var why error
	for _, line := range s.lines {
		names, err := line.principals(key, at)
		if err != nil {
			why = fmt.Errorf("%w (%s:%d)", err, s.name, line.number)
		}
		if len(names) == 0 {
			continue
		}
		why = nil
		for _, name := range names {
			err := s.allows(key, name, at)
			if err == nil {
				return name, nil
			}
			why = err
		}
		return "", why
	}
	if why != nil {
		return "", why
	}
	return "", fmt.Errorf("which %s does not list", s.name)
}

// allows says whether a line lets the key sign for git as the principal.
func (s *Signers) allows(key ssh.PublicKey, principal string, at time.Time) error {
	why := fmt.Errorf("which %s does not list for %s", s.name, principal)
	for _, line := range s.lines {
		if !matches(principal, line.patterns) {
			continue
		}
		names, err := line.principals(key, at)
		if len(names) == 0 {
			if err != nil {
				why = fmt.Errorf("%w (%s:%d)", err, s.name, line.number)
			}
			continue
		}
		if c, ok := key.(*ssh.Certificate); ok && !slices.Contains(c.ValidPrincipals, principal) {
			continue
		}
		if line.namespaces != "" && !matches(namespace, line.namespaces) {
			why = fmt.Errorf("which may sign for %s only, not for git (%s:%d)", line.namespaces, s.name, line.number)
			continue
		}
		return nil
	}
	return why
}

// principals are those that a line gives a key at a time: its own patterns, or, of a certificate, the principals in it
// that match them. Without any, the error says why, and is nil when the line is about another key.
func (l signerLine) principals(key ssh.PublicKey, at time.Time) ([]string, error) {
	c, isCertificate := key.(*ssh.Certificate)
	var names []string
	switch {
	case !l.authority && sameKey(l.key, key):
		names = strings.Split(l.patterns, ",")
	case l.authority && isCertificate && sameKey(l.key, c.SignatureKey):
		if err := checkCertificate(c, at); err != nil {
			return nil, err
		}
		for _, p := range c.ValidPrincipals {
			if matches(p, l.patterns) {
				names = append(names, p)
			}
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("whose principals %.80q are not among those that its CA is trusted for", c.ValidPrincipals)
		}
	default:
		return nil, nil
	}
	const day = "2006-01-02 15:04:05 MST"
	if !l.after.IsZero() && at.Before(l.after) {
		return nil, fmt.Errorf("which is valid after %s only, and that says %s", l.after.Format(day), at.In(l.after.Location()).Format(day))
	}
	if !l.before.IsZero() && at.After(l.before) {
		return nil, fmt.Errorf("which was valid before %s only, and that says %s", l.before.Format(day), at.In(l.before.Location()).Format(day))
	}
	return names, nil
}

// checkCertificate wants a user's certificate that its CA signed and that is valid at the time. Critical options are
// conditions; none that is known can be met by a commit, and one that is not known must be taken for unmet.
func checkCertificate(c *ssh.Certificate, at time.Time) error {
	if c.CertType != ssh.UserCert {
		return errors.New("which is no user's certificate")
	}
	if len(c.ValidPrincipals) == 0 {
		return errors.New("which names no principal")
	}
	for name := range c.CriticalOptions {
		return fmt.Errorf("which is valid under a condition only: %.40q", name)
	}
	if c.Signature == nil || !slices.Contains(strong, c.Signature.Format) {
		return errors.New("whose CA signed with an algorithm that can be forged or is not known")
	}
	// The checker is asked for one of its principals: which of them counts is found out elsewhere.
	checker := ssh.CertChecker{Clock: func() time.Time { return at }}
	if err := checker.CheckCert(c.ValidPrincipals[0], c); err != nil {
		return fmt.Errorf("which is not valid: %w", err)
	}
	return nil
}
