package webhook

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// minSecret is the least number of characters of a secret: what is shorter can be guessed from one signature.
	minSecret = 16
	// maxSecrets bounds the work at one delivery: each secret makes a signature of its own.
	maxSecrets = 8
	// signingPrefix begins a signing token: the rest is the key, in base64 (standardwebhooks.com; GitLab's signing_token).
	signingPrefix = "whsec_"
)

// Secrets are what senders know. Any one of them will do, so that one can be exchanged for another without a gap.
type Secrets struct{ all []secret }

type secret struct {
	text []byte
	// signing is the key that a signing token stands for; nil when it is none.
	signing []byte
}

// ParseSecrets reads a file of secrets, one a line. Empty lines do not count, nor does space around a secret. An error says
// the line, and nothing of what is in it.
func ParseSecrets(data []byte) (Secrets, error) {
	var s Secrets
	for n, line := range bytes.Split(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if got := utf8.RuneCount(line); got < minSecret {
			return Secrets{}, fmt.Errorf("line %d: a secret has %d characters or more, and this has %d; openssl rand -hex 32 makes one", n+1, minSecret, got)
		}
		one := secret{text: bytes.Clone(line)}
		if key, ok := strings.CutPrefix(string(line), signingPrefix); ok {
			var err error
			if one.signing, err = base64.StdEncoding.DecodeString(key); err != nil || len(one.signing) < minSecret {
				return Secrets{}, fmt.Errorf("line %d: a signing token is %s and %d bytes or more in base64, as the git host shows it", n+1, signingPrefix, minSecret)
			}
		}
		s.all = append(s.all, one)
	}
	switch {
	case len(s.all) == 0:
		return Secrets{}, errors.New("there is no secret in it: write one a line; openssl rand -hex 32 makes one")
	case len(s.all) > maxSecrets:
		return Secrets{}, fmt.Errorf("there are %d secrets in it, and %d is the limit: take out those that no sender uses any more", len(s.all), maxSecrets)
	}
	return s, nil
}
