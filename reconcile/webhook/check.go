package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"strings"
)

// ErrRefused says that a delivery proves no knowledge of a secret.
var ErrRefused = errors.New("no right signature or token")

// Header is a delivery's header, as http.Header gives it: the first value of a name, empty when there is none.
type Header interface{ Get(name string) string }

// The headers that carry an HMAC-SHA256 of the body in hexadecimal digits, and what stands before it. A SHA-1, as GitHub
// sends beside it and as old hosts send alone, is not looked at.
//   - GitHub: "Validating webhook deliveries"
//   - Bitbucket Cloud and Data Center: "Secure webhooks", and "Event payload"
//   - Gitea, Forgejo: "Webhooks"; they send GitHub's header too
var signatures = [...]struct{ name, prefix string }{
	{"X-Hub-Signature-256", "sha256="},
	{"X-Hub-Signature", "sha256="},
	{"X-Gitea-Signature", ""},
	{"X-Forgejo-Signature", ""},
	{"X-Gitvirt-Signature", "sha256="},
}

// maxStandard is how many signatures of one Webhook-Signature header are looked at.
const maxStandard = 8

// check finds out, while a body is written to it, whether the sender knows a secret. A git host that sends several proofs
// may have been told a secret of each kind: one that is right is enough.
type check struct {
	proven bool // by a token, which says nothing of the body
	signed []signed
}

// signed is what the body is signed as under one secret, and what the sender says that it is.
type signed struct {
	mac    hash.Hash
	claims [][]byte
}

// check begins one. It fails with ErrRefused when nothing that could be in the body would make a proof.
func (s Secrets) check(h Header) (*check, error) {
	c := &check{proven: s.hasToken(h)}
	if c.proven {
		return c, nil
	}
	var claims [][]byte
	for _, header := range signatures {
		digits, ok := strings.CutPrefix(h.Get(header.name), header.prefix)
		if claim, err := hex.DecodeString(digits); ok && err == nil && len(claim) == sha256.Size {
			claims = append(claims, claim)
		}
	}
	standard := standardClaims(h)
	for _, secret := range s.all {
		if len(claims) > 0 {
			c.signed = append(c.signed, signed{hmac.New(sha256.New, secret.text), claims})
		}
		if len(standard) > 0 && secret.signing != nil {
			mac := hmac.New(sha256.New, secret.signing)
			_, _ = mac.Write([]byte(h.Get("Webhook-Id") + "." + h.Get("Webhook-Timestamp") + ".")) // a hash takes everything
			c.signed = append(c.signed, signed{mac, standard})
		}
	}
	if len(c.signed) == 0 {
		return nil, ErrRefused
	}
	return c, nil
}

// hasToken says whether a token was sent that is a secret: GitLab's, or the one that everybody can send.
func (s Secrets) hasToken(h Header) bool {
	bearer := ""
	if scheme, token, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		bearer = strings.TrimSpace(token)
	}
	found := 0
	for _, token := range []string{h.Get("X-Gitlab-Token"), bearer} {
		if token == "" {
			continue
		}
		sent := sha256.Sum256([]byte(token)) // so that the time does not tell the length either
		for _, secret := range s.all {
			want := sha256.Sum256(secret.text)
			found |= subtle.ConstantTimeCompare(sent[:], want[:])
		}
	}
	return found == 1
}

// standardClaims are the signatures of the form that GitLab's signing token makes: "v1," and base64, several with a space
// between them. The time in it is not compared with ours: an old delivery that is sent again does no more than a new one.
func standardClaims(h Header) [][]byte {
	var claims [][]byte
	for n, one := range strings.Fields(h.Get("Webhook-Signature")) {
		text, ok := strings.CutPrefix(one, "v1,")
		claim, err := base64.StdEncoding.DecodeString(text)
		if ok && err == nil && len(claim) == sha256.Size && n < maxStandard {
			claims = append(claims, claim)
		}
	}
	return claims
}

// Write takes a part of the body.
func (c *check) Write(p []byte) (int, error) {
	for _, s := range c.signed {
		_, _ = s.mac.Write(p) // a hash takes everything
	}
	return len(p), nil
}

// ok says whether the sender knows a secret, now that all of the body was written. It takes as long for each answer.
func (c *check) ok() bool {
	found := 0
	for _, s := range c.signed {
		sum := s.mac.Sum(nil)
		for _, claim := range s.claims {
			found |= subtle.ConstantTimeCompare(sum, claim)
		}
	}
	return c.proven || found == 1
}
