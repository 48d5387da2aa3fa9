package source

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	hostsfile "golang.org/x/crypto/ssh/knownhosts"
)

// hostKeys are the keys that a known_hosts file pins for a server, and the one that the server showed. Nothing is ever
// written to the file.
type hostKeys struct {
	file, address string
	pinned        *knownhosts.HostKeyDB
	seen          ssh.PublicKey
	err           error // what is wrong with it
}

func readHostKeys(file, address string) (*hostKeys, error) {
	db, err := knownhosts.NewDB(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the known_hosts file: %w", err)
	}
	return &hostKeys{file: file, address: address, pinned: db}, nil
}

// algorithms begins with the kinds of keys that are pinned, since the server may have others too. The rest follow, so that
// a server that has none of those shows the key that it has, and is refused by name.
func (h *hostKeys) algorithms() []string {
	list := h.pinned.HostKeyAlgorithms(h.address)
	for _, a := range ssh.SupportedAlgorithms().HostKeys {
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

func (h *hostKeys) check(hostname string, remote net.Addr, key ssh.PublicKey) error {
	h.seen = key
	h.err = h.pinned.HostKeyCallback()(hostname, remote, key)
	return h.err
}

// explain says which key was expected and which was seen, when that is what went wrong.
func (h *hostKeys) explain(err error) error {
	var revoked *hostsfile.RevokedError
	expected := h.expected()
	switch {
	case h.err == nil:
		return err
	case errors.As(h.err, &revoked):
		return fmt.Errorf("%w: the server %s shows %s, which %s says is revoked", ErrHostKey, h.address, fingerprint(h.seen), h.file)
	case knownhosts.IsHostUnknown(h.err) || expected == "":
		return fmt.Errorf("%w: %s has no key for %s, which shows %s; if that is what the server's owner publishes, write the key there",
			ErrHostKey, h.file, h.address, fingerprint(h.seen))
	case knownhosts.IsHostKeyChanged(h.err):
		return fmt.Errorf("%w: %s pins for %s: %s; the server shows %s; if the server's owner confirms the new key, write it there",
			ErrHostKey, h.file, h.address, expected, fingerprint(h.seen))
	}
	return fmt.Errorf("%w: %s pins for %s: %s; the server shows %s: %w", ErrHostKey, h.file, h.address, expected, fingerprint(h.seen), h.err)
}

// expected lists the keys that are pinned for the server.
func (h *hostKeys) expected() string {
	var list []string
	for _, k := range h.pinned.HostKeys(h.address) {
		text := fingerprint(k.PublicKey)
		if k.Cert {
			text = "a certificate by " + text
		}
		list = append(list, text)
	}
	return strings.Join(list, " or ")
}

// fingerprint is a key as ssh-keygen -l writes it, with its kind.
func fingerprint(key ssh.PublicKey) string {
	if c, ok := key.(*ssh.Certificate); ok {
		return fmt.Sprintf("a certificate %q for %s by %s", c.KeyId, fingerprint(c.Key), fingerprint(c.SignatureKey))
	}
	return key.Type() + " " + ssh.FingerprintSHA256(key)
}
