package vault

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/google/renameio/v2"

	"github.com/gitvirt/gitvirt/render/secret"
)

// Options say where a host's keys and secrets are.
type Options struct {
	// IdentityFile holds the host's age identities, or an SSH private key; empty for none.
	IdentityFile string
	// HostDirs are the folders that documents may name files below; the first that has a file is taken.
	HostDirs []string
	// KeyFile holds the key that tokens are made with. It is made when it is not there, and MakeKey says so; otherwise the
	// vault has a key of its own until it is gone.
	KeyFile string
	MakeKey bool
}

// Vault opens secrets. It reads files anew at each use, so that a rotation needs no restart. It is safe for concurrent use.
type Vault struct {
	opts Options
	key  []byte

	mu     sync.Mutex
	values map[string]secret.Value // by token
	used   map[string]mark         // files that were read, or looked for, since the last epoch
	epoch  uint64
}

const keyBytes = 32

// New makes a vault, and its key when there is none.
func New(o Options) (*Vault, error) {
	v := &Vault{opts: o, values: map[string]secret.Value{}, used: map[string]mark{}}
	for _, dir := range o.HostDirs {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("the folder of secrets %q is no absolute path", dir)
		}
	}
	key, err := readFile(o.KeyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key = make([]byte, keyBytes)
		_, _ = rand.Read(key) // it never fails
		if o.MakeKey {
			err = writeKey(o.KeyFile, key)
		} else {
			err = nil
		}
	case err == nil && len(key) != keyBytes:
		err = fmt.Errorf("it has %d bytes, and a key has %d: remove the file, and a new one is made", len(key), keyBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use the key of the agent's tokens: %w", err)
	}
	v.key = key
	return v, nil
}

// writeKey makes the key's file, whole or not at all.
func writeKey(file string, key []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(file, key, 0o600, renameio.WithTempDir(filepath.Dir(file)))
}

// Token stands for a value, and is what Value finds it by.
func (v *Vault) Token(value secret.Value) string {
	token := secret.Token(v.key, value.Bytes())
	v.mu.Lock()
	defer v.mu.Unlock()
	v.values[token] = value
	return token
}

// Value is what a token of this vault's stands for.
func (v *Vault) Value(token string) (secret.Value, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, ok := v.values[token]
	return value, ok
}

// Epoch counts the changes of the files that were read.
func (v *Vault) Epoch() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, file := range slices.Collect(maps.Keys(v.used)) {
		if look(file) != v.used[file] {
			v.epoch++
			clear(v.used) // they are read again now
			break
		}
	}
	return v.epoch
}

// note remembers how a file was before it is read.
func (v *Vault) note(file string) {
	m := look(file)
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.used[file]; !ok {
		v.used[file] = m
	}
}

// Open decrypts an age file, binary or armored.
func (v *Vault) Open(file []byte) (secret.Value, error) {
	if v.opts.IdentityFile == "" {
		return secret.Value{}, errors.New("the agent has no key: say secrets.ageIdentityFile in its file")
	}
	v.note(v.opts.IdentityFile)
	identities, err := readIdentities(v.opts.IdentityFile)
	if err != nil {
		return secret.Value{}, fmt.Errorf("the agent's secrets.ageIdentityFile %s cannot be used: %w", v.opts.IdentityFile, err)
	}
	var in io.Reader = bytes.NewReader(file)
	if trimmed := bytes.TrimLeft(file, " \t\r\n"); bytes.HasPrefix(trimmed, []byte(armor.Header)) {
		in = armor.NewReader(bytes.NewReader(trimmed))
	}
	var none *age.NoIdentityMatchError
	out, err := age.Decrypt(in, identities...)
	switch {
	case errors.As(err, &none):
		return secret.Value{}, fmt.Errorf("none of the %d keys in %s opens it", len(identities), v.opts.IdentityFile)
	case err != nil:
		return secret.Value{}, fmt.Errorf("it is damaged: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(out, secret.MaxFile+1))
	switch {
	case err != nil:
		return secret.Value{}, fmt.Errorf("it is damaged: %w", err)
	case len(plain) > secret.MaxFile:
		return secret.Value{}, fmt.Errorf("it has more than %d bytes", secret.MaxFile)
	}
	return secret.NewValue(plain), nil
}

// Host reads a file below one of the folders. A link that leads out of its folder is refused.
func (v *Vault) Host(name string) (secret.Value, error) {
	if len(v.opts.HostDirs) == 0 {
		return secret.Value{}, errors.New("the agent's file names no folder for secrets: say secrets.hostDirs in it")
	}
	if !filepath.IsLocal(name) {
		return secret.Value{}, errors.New("it is no path below a folder")
	}
	for _, dir := range v.opts.HostDirs {
		v.note(filepath.Join(dir, name))
		content, err := readBelow(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return secret.NewValue(content), err
	}
	return secret.Value{}, fmt.Errorf("there is no such file in %s", strings.Join(v.opts.HostDirs, " and "))
}
