package receiver

import (
	"fmt"
	"io"
	"os"

	"github.com/gitvirt/gitvirt/reconcile/webhook"
)

// maxFile bounds a file of secrets, which has a few lines.
const maxFile = 64 << 10

// Secrets reads a file of secrets, one a line. No error repeats what is in it.
func Secrets(file string) (webhook.Secrets, error) {
	f, err := os.Open(file)
	if err != nil {
		return webhook.Secrets{}, fmt.Errorf("cannot read webhook.secretFile: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it has more than %d KiB: write one secret a line", maxFile>>10)
	}
	if err != nil {
		return webhook.Secrets{}, fmt.Errorf("cannot read webhook.secretFile %s: %w", file, err)
	}
	s, err := webhook.ParseSecrets(data)
	if err != nil {
		return webhook.Secrets{}, fmt.Errorf("cannot use webhook.secretFile %s: %w", file, err)
	}
	return s, nil
}
