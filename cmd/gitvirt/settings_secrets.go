package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/runner/vault"
)

// secrets is where a host's keys and secrets are; only the file has it.
type secrets struct {
	// AgeIdentityFile holds the keys that open the repository's encrypted files: age's, or an SSH private key.
	AgeIdentityFile string `yaml:"ageIdentityFile"`
	// HostDirs are the folders that documents may name files below.
	HostDirs []string `yaml:"hostDirs"`
}

func (s secrets) validate() error {
	var errs []error
	if s.AgeIdentityFile != "" && !filepath.IsAbs(s.AgeIdentityFile) {
		errs = append(errs, fmt.Errorf("secrets.ageIdentityFile %q: say an absolute path", s.AgeIdentityFile))
	}
	for _, dir := range s.HostDirs {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" {
			errs = append(errs, fmt.Errorf("secrets.hostDirs: %q: say the absolute path of a folder for secrets", dir))
		}
	}
	return errors.Join(errs...)
}

// vault is the host's. An agent makes the key of its tokens; who only looks has its store elsewhere, and leaves nothing
// behind.
func (s settings) vault(store string) (*vault.Vault, error) {
	// What this process and its qemu-imgs know does not get into a core dump.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return nil, fmt.Errorf("cannot forbid core dumps: %w", err)
	}
	keeps := filepath.Dir(store) == filepath.Clean(s.StateDir)
	return vault.New(vault.Options{
		IdentityFile: s.Secrets.AgeIdentityFile, HostDirs: s.Secrets.HostDirs,
		KeyFile: filepath.Join(s.StateDir, "token.key"), MakeKey: keeps,
	})
}
