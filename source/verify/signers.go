package verify

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Signers are a file of allowed signers (ssh-keygen(1), ALLOWED SIGNERS).
type Signers struct {
	name  string
	lines []signerLine
}

type signerLine struct {
	number   int
	patterns string // of principals
	key      ssh.PublicKey
	signerOptions
}

// ReadSigners reads a file of allowed signers. Times in it that do not end in Z are of the zone. The error names file
// and line; one bad line makes the whole file an error.
func ReadSigners(name string, data []byte, zone *time.Location) (*Signers, error) {
	s := &Signers{name: name}
	err := eachLine(name, data, func(number int, line string) error {
		patterns, rest, err := firstField(line)
		if err != nil {
			return err
		}
		l := signerLine{number: number, patterns: patterns}
		if l.key, err = readKey(rest); err != nil {
			options, after, e := cutOptions(rest)
			if e != nil {
				return e
			}
			if after == "" {
				return fmt.Errorf("%w; a line has principals, options if there are any, the key's type, and the key", err)
			}
			if l.key, err = readKey(after); err != nil {
				return err
			}
			if l.signerOptions, err = readOptions(options, zone); err != nil {
				return err
			}
		}
		if _, ok := l.key.(*ssh.Certificate); ok {
			return errors.New("it lists a certificate: list its key, or the key of its CA with the option cert-authority")
		}
		s.lines = append(s.lines, l)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read allowed signers %w", err)
	}
	return s, nil
}

// eachLine reads the lines that are not empty and no comment. A bad one ends it.
func eachLine(name string, data []byte, read func(number int, line string) error) error {
	number := 0
	for raw := range bytes.Lines(data) {
		number++
		line := strings.Trim(string(raw), " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if strings.ContainsRune(line, 0) {
			return fmt.Errorf("%s:%d: it is no text", name, number)
		}
		if err := read(number, line); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	return nil
}

const space = " \t"

// firstField takes the principals, which may be in quotes.
func firstField(line string) (string, string, error) {
	if after, ok := strings.CutPrefix(line, `"`); ok {
		field, rest, ok := strings.Cut(after, `"`)
		if !ok {
			return "", "", errors.New("a quote is not closed")
		}
		return field, strings.TrimLeft(rest, space), checkPrincipals(field)
	}
	end := strings.IndexAny(line, space)
	if end < 0 {
		return "", "", errors.New("it has one field only: a line has principals, options if there are any, the key's type, and the key")
	}
	return line[:end], strings.TrimLeft(line[end:], space), checkPrincipals(line[:end])
}

func checkPrincipals(patterns string) error {
	for p := range strings.SplitSeq(patterns, ",") {
		if strings.TrimPrefix(p, "!") == "" {
			return fmt.Errorf("the principals %.60q have an empty one", patterns)
		}
	}
	return nil
}

// cutOptions cuts where the options end: at the first space outside of quotes.
func cutOptions(s string) (options, rest string, err error) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '"':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(space, s[i]) >= 0:
			return s[:i], strings.TrimLeft(s[i:], space), nil
		}
	}
	if quoted {
		return "", "", errors.New("a quote is not closed")
	}
	return s, "", nil
}

// readKey reads a key's type and its base64, and leaves the comment that may follow.
func readKey(s string) (ssh.PublicKey, error) {
	fields := strings.Fields(s)
	if len(fields) < 2 {
		return nil, fmt.Errorf("%.40q is no key", s)
	}
	raw, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return nil, fmt.Errorf("%.40q is no key of type %.30q", fields[1], fields[0])
	}
	key, err := ssh.ParsePublicKey(raw)
	if err != nil {
		return nil, fmt.Errorf("cannot read the key of type %.30q: %w", fields[0], err)
	}
	if key.Type() != fields[0] {
		return nil, fmt.Errorf("the key is of type %s, and not %.30q", key.Type(), fields[0])
	}
	return key, nil
}

// Revoked are SSH keys that must not count.
type Revoked struct {
	name string
	keys []ssh.PublicKey
}

// ReadRevoked reads a file of public keys, one to a line: the form of gpg.ssh.revocationFile that is not binary. A
// listed key revokes its certificates too, a CA's key all that it signed. The error names file and line.
func ReadRevoked(name string, data []byte) (*Revoked, error) {
	r := &Revoked{name: name}
	if bytes.HasPrefix(data, []byte("SSHKRL\n\x00")) {
		return nil, fmt.Errorf("cannot read revoked keys %s: it is a binary revocation list (KRL), which is not supported: list the public keys, one to a line", name)
	}
	err := eachLine(name, data, func(_ int, line string) error {
		key, err := readKey(line)
		if err == nil {
			r.keys = append(r.keys, plainKey(key))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read revoked keys %w", err)
	}
	return r, nil
}

func (r *Revoked) has(key ssh.PublicKey) bool {
	if r == nil {
		return false
	}
	for _, k := range r.keys {
		if sameKey(k, plainKey(key)) {
			return true
		}
		if c, ok := key.(*ssh.Certificate); ok && sameKey(k, c.SignatureKey) {
			return true
		}
	}
	return false
}
