package vault

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"
)

// readIdentities reads the host's keys.
func readIdentities(file string) ([]age.Identity, error) {
	content, err := readFile(file)
	if err != nil {
		return nil, err
	}
	return parseIdentities(content)
}

// parseIdentities reads age's form of a list of identities (age-keygen writes one), or an SSH private key. The errors say
// nothing of what is in it, and so nothing of what the libraries say.
func parseIdentities(content []byte) ([]age.Identity, error) {
	const passphrase = "it is encrypted with a passphrase, which an agent cannot type: use a key without one, in a file that only root can read"
	text := bytes.TrimSpace(content)
	switch {
	case bytes.HasPrefix(text, []byte("age-encryption.org/")), bytes.HasPrefix(text, []byte("-----BEGIN AGE ENCRYPTED FILE")):
		return nil, errors.New(passphrase)
	case bytes.HasPrefix(text, []byte("-----BEGIN")):
		key, err := agessh.ParseIdentity(text)
		var missing *ssh.PassphraseMissingError
		if errors.As(err, &missing) {
			return nil, errors.New(passphrase)
		}
		if err != nil {
			return nil, errors.New("it is no SSH private key that age can use: ed25519 and rsa can be")
		}
		return []age.Identity{key}, nil
	}
	var all []age.Identity
	n := 0
	for line := range strings.Lines(string(content)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "AGE-PLUGIN-") {
			return nil, fmt.Errorf("line %d is the identity of an age plugin, and plugins are not run: use a key that age-keygen makes", n)
		}
		one, err := age.ParseIdentities(strings.NewReader(line))
		if err != nil {
			return nil, fmt.Errorf("line %d is no identity of age's, which begins with AGE-SECRET-KEY-1", n)
		}
		all = append(all, one...)
	}
	if len(all) == 0 {
		return nil, errors.New("it holds no identity: write it with age-keygen")
	}
	return all, nil
}
