package secret

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxFile is how large a file with a secret may be, in bytes. Libvirt takes secrets of 64 KiB at most, and a cloud-init
// seed of more than this is no configuration.
const MaxFile = 1 << 20

const (
	// The first lines of an age file, binary and armored (https://age-encryption.org/v1).
	ageIntro   = "age-encryption.org/v1\n"
	armorIntro = "-----BEGIN AGE ENCRYPTED FILE-----"
	// maxHeader is how much of a file its header may be: some 300 bytes for each recipient.
	maxHeader = 256 << 10
	// maxStanzas is how many recipients are looked at.
	maxStanzas = 1000
)

// ErrPlain says that a file is not encrypted.
var ErrPlain = errors.New("is not encrypted with age")

// Envelope is what anybody can see of an age file.
type Envelope struct {
	// Recipients are those who can open it, as far as that can be told: age does not say which X25519 keys they are. An SSH
	// key is named by the tag that age gives it.
	Recipients []string
}

// String is the recipients in a few words, for messages.
func (e Envelope) String() string {
	count := map[string]int{}
	var order []string
	for _, r := range e.Recipients {
		if count[r]++; count[r] == 1 {
			order = append(order, r)
		}
	}
	for n, r := range order {
		if count[r] > 1 {
			order[n] = fmt.Sprintf("%d × %s", count[r], r)
		}
	}
	return strings.Join(order, ", ")
}

// ReadEnvelope reads the header of an age file without any key. ErrPlain says that it is none.
func ReadEnvelope(file []byte) (Envelope, error) {
	if len(file) > MaxFile {
		return Envelope{}, fmt.Errorf("has %d bytes, and a secret has at most %d", len(file), MaxFile)
	}
	if trimmed := bytes.TrimLeft(file, " \t\r\n"); bytes.HasPrefix(trimmed, []byte(armorIntro)) {
		var err error
		if file, err = unarmor(trimmed); err != nil {
			return Envelope{}, err
		}
	}
	head, ok := bytes.CutPrefix(file, []byte(ageIntro))
	if !ok {
		return Envelope{}, ErrPlain
	}
	head = head[:min(len(head), maxHeader)]
	var e Envelope
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("--- ")) {
			if len(e.Recipients) == 0 {
				return e, errors.New("is an age file without a recipient; encrypt it again")
			}
			return e, nil
		}
		words := strings.Fields(string(line))
		if len(words) > 1 && words[0] == "->" {
			e.Recipients = append(e.Recipients, recipient(words[1:]))
		}
		if len(e.Recipients) > maxStanzas {
			return e, fmt.Errorf("is encrypted to more than %d recipients", maxStanzas)
		}
	}
	return e, errors.New("is an age file whose header has no end: it is damaged, or cut off; encrypt it again")
}

// recipient is a stanza's first line as a message has it.
func recipient(words []string) string {
	kind := words[0]
	known := []string{"X25519", "ssh-ed25519", "ssh-rsa", "scrypt", "mlkem768x25519"}
	if !slices.Contains(known, kind) {
		return "another kind of key"
	}
	if strings.HasPrefix(kind, "ssh-") && len(words) > 1 && len(words[1]) == 6 && isBase64(words[1]) {
		return kind + " " + words[1]
	}
	if kind == "scrypt" {
		return "a passphrase"
	}
	return kind
}

func isBase64(s string) bool {
	_, err := base64.RawStdEncoding.DecodeString(s)
	return err == nil
}

// unarmor is the content of an armored file, as far as it holds the header.
func unarmor(text []byte) ([]byte, error) {
	_, text, _ = bytes.Cut(text, []byte("\n"))
	body, _, ok := bytes.Cut(text, []byte("-----END AGE ENCRYPTED FILE-----"))
	if !ok {
		return nil, errors.New("is an armored age file without its end; encrypt it again")
	}
	body = bytes.Join(bytes.Fields(body), nil)
	out := make([]byte, base64.StdEncoding.DecodedLen(len(body)))
	n, err := base64.StdEncoding.Decode(out, body)
	if err != nil {
		return nil, errors.New("is an armored age file that is no base64: it is damaged; encrypt it again")
	}
	return out[:n], nil
}
