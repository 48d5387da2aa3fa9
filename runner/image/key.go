package image

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/secret"
)

// Secrets knows the values that tokens stand for.
type Secrets interface {
	Value(token string) (secret.Value, bool)
}

// maxPassphrase is what fits into a pipe while nobody reads it, in bytes (pipe(7)), and what libvirt takes for a secret.
const maxPassphrase = 64 << 10

// key is an encrypted volume's passphrase on its way to qemu-img: through a pipe, so that it is in no file and no process
// listing. It is empty for a volume that is not encrypted.
type key struct {
	pipe    *os.File
	tryTime time.Duration
}

// withKey hands a volume's passphrase to a run of qemu-img.
func (m Maker) withKey(v render.Volume, f func(key) error) error {
	if v.Encryption == nil {
		return f(key{})
	}
	if m.Secrets == nil {
		return unusable("volume %s is encrypted, and its passphrase is not known", v.Name)
	}
	value, ok := m.Secrets.Value(v.Encryption.Token)
	if !ok || value.IsEmpty() || len(value.Bytes()) > maxPassphrase {
		return unusable("volume %s is encrypted, and its passphrase is not known, or longer than %d bytes", v.Name, maxPassphrase)
	}
	var err error
	for range measureTries {
		if err = m.handOver(value, f); err == nil || !strings.Contains(err.Error(), "Unable to get accurate CPU usage") {
			break
		}
	}
	return err
}

// measureTries is how often an image is made whose LUKS header could not be: QEMU 7.2 measures how fast the processor is, for
// a time that it takes to try a passphrase, and fails where the system's clock of used time did not move meanwhile.
const measureTries = 10

func (m Maker) handOver(value secret.Value, f func(key) error) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot hand over the passphrase: %w", err)
	}
	defer r.Close()
	_, err = w.Write(value.Bytes())
	if err2 := w.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return fmt.Errorf("cannot hand over the passphrase: %w", err)
	}
	return f(key{r, m.TryTime})
}

// args puts the key in front of a command's arguments.
func (k key) args(command string, args ...string) []string {
	if k.pipe == nil {
		return append([]string{command}, args...)
	}
	return append([]string{command, "--object", "secret,id=key,file=/dev/fd/3"}, args...)
}

// options are those of creating an image that the key opens.
func (k key) options() string {
	if k.pipe == nil {
		return ""
	}
	options := ",encrypt.format=luks,encrypt.key-secret=key"
	if k.tryTime > 0 {
		options += fmt.Sprintf(",encrypt.iter-time=%d", k.tryTime.Milliseconds())
	}
	return options
}

// image is an encrypted image in QEMU's form of a list of options, in which a comma in a value is written twice.
func (k key) image(path string) string {
	return "driver=qcow2,encrypt.key-secret=key,file.driver=file,file.filename=" + strings.ReplaceAll(path, ",", ",,")
}

// opens says whether a volume's passphrase opens what is there; a running domain may have it.
func (m Maker) opens(ctx context.Context, path string, v render.Volume) error {
	err := m.withKey(v, func(k key) error {
		// "info" does not need the key; "map" does.
		return m.run(ctx, k, k.args("map", "-U", "--max-length=512", "--image-opts", "--", k.image(path))...)
	})
	if err != nil {
		return unusable("the passphrase does not open volume %s, which stays as it is: say the old one again, or give the volume this one with qemu-img amend: %w", v.Name, err)
	}
	return nil
}
