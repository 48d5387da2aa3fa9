package vault

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/armor"
	"golang.org/x/crypto/ssh"

	"github.com/gitvirt/gitvirt/render/secret"
)

func write(t testing.TB, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

func seal(t testing.TB, text string, armored bool, to ...age.Recipient) []byte {
	t.Helper()
	var b bytes.Buffer
	var out io.Writer = &b
	finish := func() error { return nil }
	if armored {
		a := armor.NewWriter(&b)
		out, finish = a, a.Close
	}
	w, err := age.Encrypt(out, to...)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = errors.Join(w.Close(), finish())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func identity(t testing.TB) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func open(t testing.TB, o Options) *Vault {
	t.Helper()
	if o.KeyFile == "" {
		o.KeyFile = filepath.Join(t.TempDir(), "token.key")
	}
	v, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sshKey is an SSH private key, and the recipient that age makes of its public half.
func sshKey(t *testing.T, passphrase string) (string, age.Recipient) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	recipient, err := agessh.NewEd25519Recipient(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), recipient
}

func TestOpen(t *testing.T) {
	one, two, other := identity(t), identity(t), identity(t)
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	privateSSH, publicSSH := sshKey(t, "")
	lockedSSH, _ := sshKey(t, "canary")
	good := seal(t, "text", false, one.Recipient())
	list := "# created: today\n" + two.String() + "\n\n  " + one.String() + "\r\n"
	for name, tt := range map[string]struct {
		keys string
		mode os.FileMode
		file []byte
		err  string
	}{
		"one of several":          {list, 0o600, good, ""},
		"armored":                 {list, 0o600, seal(t, "text", true, one.Recipient()), ""},
		"armored behind a line":   {list, 0o600, append([]byte("\n"), seal(t, "text", true, one.Recipient())...), ""},
		"to several":              {one.String(), 0o640, seal(t, "text", false, other.Recipient(), one.Recipient()), ""},
		"SSH":                     {privateSSH, 0o600, seal(t, "text", false, publicSSH), ""},
		"post-quantum":            {hybrid.String(), 0o600, seal(t, "text", false, hybrid.Recipient()), ""},
		"to another":              {list, 0o600, seal(t, "text", false, other.Recipient()), "none of the 2 keys"},
		"cut off":                 {list, 0o600, good[:len(good)-1], "damaged"},
		"changed":                 {list, 0o600, append(good[:len(good)-1:len(good)-1], 0), "damaged"},
		"no key":                  {"# none\n", 0o600, good, "no identity"},
		"a broken key":            {list + "AGE-SECRET-KEY-1CANARY\n", 0o600, good, "line 5 is no identity"},
		"a plugin's":              {"AGE-PLUGIN-YUBIKEY-1CANARY\n", 0o600, good, "plugins are not run"},
		"SSH behind a passphrase": {lockedSSH, 0o600, good, "passphrase"},
		"no SSH key":              {"-----BEGIN CANARY-----\n", 0o600, good, "no SSH private key"},
		"identities encrypted":    {string(good), 0o600, good, "passphrase"},
		"read by everybody":       {list, 0o604, good, "everybody"},
		"written by its group":    {list, 0o620, good, "group"},
	} {
		v := open(t, Options{IdentityFile: write(t, filepath.Join(t.TempDir(), "age.key"), tt.keys, tt.mode)})
		got, err := v.Open(tt.file)
		if tt.err == "" && (err != nil || string(got.Bytes()) != "text") || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %q, %v", name, got.Bytes(), err)
		}
		if err != nil && (strings.Contains(strings.ToLower(err.Error()), "canary") || strings.Contains(err.Error(), one.String())) {
			t.Errorf("%s: the error tells the key: %v", name, err)
		}
	}
	if _, err := open(t, Options{}).Open(good); err == nil || !strings.Contains(err.Error(), "secrets.ageIdentityFile") {
		t.Errorf("without a key: %v", err)
	}
	large := seal(t, strings.Repeat("x", secret.MaxFile+1), false, one.Recipient())
	v := open(t, Options{IdentityFile: write(t, filepath.Join(t.TempDir(), "age.key"), one.String(), 0o600)})
	if _, err := v.Open(large); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("too large a secret: %v", err)
	}
}

func TestHost(t *testing.T) {
	top := t.TempDir()
	first, second, outside := filepath.Join(top, "first"), filepath.Join(top, "second"), filepath.Join(top, "outside")
	write(t, filepath.Join(outside, "text"), "outside", 0o600)
	write(t, filepath.Join(first, "a/text"), "first", 0o600)
	write(t, filepath.Join(second, "a/text"), "hidden", 0o600)
	write(t, filepath.Join(second, "b"), "second", 0o640)
	write(t, filepath.Join(first, "open"), "x", 0o644)
	write(t, filepath.Join(first, "theirs"), "x", 0o600)
	write(t, filepath.Join(first, "large"), strings.Repeat("x", secret.MaxFile+1), 0o600)
	for name, to := range map[string]string{"inside": "a/text", "escape": "../outside/text", "absolute": filepath.Join(outside, "text"), "folder": "../outside"} {
		if err := os.Symlink(to, filepath.Join(first, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(syscall.Mkfifo(filepath.Join(first, "pipe"), 0o600), os.Chown(filepath.Join(first, "theirs"), 12345, 0)); err != nil && os.Geteuid() == 0 {
		t.Fatal(err)
	}
	v := open(t, Options{HostDirs: []string{first, second}})
	for name, want := range map[string]string{"a/text": "first", "b": "second", "inside": "first"} {
		if got, err := v.Host(name); err != nil || string(got.Bytes()) != want {
			t.Errorf("%s: %q, %v", name, got.Bytes(), err)
		}
	}
	refused := map[string]string{
		"nowhere": "no such file", "escape": "", "absolute": "", "folder/text": "", "../outside/text": "no path below", "/etc/passwd": "no path below",
		"": "no path below", "open": "everybody", "large": "at most", "pipe": "no regular file", "a": "no regular file",
	}
	if os.Geteuid() == 0 {
		refused["theirs"] = "the user 12345's"
	}
	for name, want := range refused {
		if got, err := v.Host(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", name, got.Bytes(), err, want)
		}
	}
	if _, err := open(t, Options{}).Host("a"); err == nil || !strings.Contains(err.Error(), "secrets.hostDirs") {
		t.Errorf("without a folder: %v", err)
	}
	if _, err := New(Options{HostDirs: []string{"relative"}, KeyFile: filepath.Join(top, "k")}); err == nil {
		t.Error("a relative folder is taken")
	}
}

// TestEpoch: a rotation is noticed, however it is done, and so is a file that comes.
func TestEpoch(t *testing.T) {
	top := t.TempDir()
	id := identity(t)
	key := write(t, filepath.Join(top, "age.key"), id.String(), 0o600)
	dir := filepath.Join(top, "secrets")
	write(t, filepath.Join(dir, "..v1", "a"), "one", 0o600)
	write(t, filepath.Join(dir, "..v2", "a"), "two", 0o600)
	link := filepath.Join(dir, "data")
	if err := os.Symlink("..v1", link); err != nil {
		t.Fatal(err)
	}
	v := open(t, Options{IdentityFile: key, HostDirs: []string{dir}})
	read := func() {
		_, _ = v.Host("data/a")
		_, _ = v.Host("later")
		_, _ = v.Open(seal(t, "x", false, id.Recipient()))
	}
	read()
	before := v.Epoch()
	for _, step := range []struct {
		name   string
		change func()
	}{
		{"a link is turned", func() {
			if err := errors.Join(os.Symlink("..v2", link+".new"), os.Rename(link+".new", link)); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file comes", func() { write(t, filepath.Join(dir, "later"), "x", 0o600) }},
		{"a mode changes", func() { write(t, filepath.Join(dir, "..v2", "a"), "two", 0o640) }},
		{"the keys change", func() { write(t, key, id.String()+"\n#\n", 0o600) }},
	} {
		if v.Epoch() != before {
			t.Fatalf("%s: the epoch changes before", step.name)
		}
		step.change()
		after := v.Epoch()
		if after == before {
			t.Errorf("%s: nothing is noticed", step.name)
		}
		read()
		before = v.Epoch()
	}
}

func TestKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "token.key")
	value := secret.NewValue([]byte("a"))
	looks := open(t, Options{KeyFile: file})
	if _, err := os.Stat(file); err == nil {
		t.Error("who only looks makes a key")
	}
	keeps := open(t, Options{KeyFile: file, MakeKey: true})
	token := keeps.Token(value)
	if token == looks.Token(value) || !secret.IsToken(token) {
		t.Errorf("%s: not of the key", token)
	}
	if again := open(t, Options{KeyFile: file}); again.Token(value) != token {
		t.Error("another agent has another token for it")
	}
	if got, ok := keeps.Value(token); !ok || string(got.Bytes()) != "a" {
		t.Errorf("a token stands for %q", got.Bytes())
	}
	if _, ok := keeps.Value("hmac:00"); ok {
		t.Error("an unknown token stands for something")
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	write(t, file, "short", 0o600)
	if _, err := New(Options{KeyFile: file}); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("a broken key: %v", err)
	}
}

// FuzzIdentities: whatever is in the file of keys, an error tells nothing of it.
func FuzzIdentities(f *testing.F) {
	f.Add([]byte(identity(f).String()))
	f.Add([]byte("-----BEGIN OPENSSH PRIVATE KEY-----\nYWJj\n-----END OPENSSH PRIVATE KEY-----\n"))
	f.Add([]byte("AGE-PLUGIN-X-1AAAA"))
	f.Fuzz(func(t *testing.T, content []byte) {
		ids, err := parseIdentities(content)
		if (err == nil) != (len(ids) > 0) {
			t.Errorf("%d identities and %v", len(ids), err)
		}
		for word := range strings.FieldsSeq(string(content)) {
			if err != nil && len(word) > 16 && strings.Contains(err.Error(), word) && !strings.Contains("AGE-SECRET-KEY-1", word) {
				t.Errorf("the error tells %q: %v", word, err)
			}
		}
	})
}

// FuzzOpen: no file makes it fail otherwise than with an error.
func FuzzOpen(f *testing.F) {
	id := identity(f)
	f.Add(seal(f, "text", false, id.Recipient()))
	f.Add(seal(f, "text", true, id.Recipient()))
	v := open(f, Options{IdentityFile: write(f, filepath.Join(f.TempDir(), "age.key"), id.String(), 0o600)})
	f.Fuzz(func(t *testing.T, file []byte) {
		if got, err := v.Open(file); err != nil && !got.IsEmpty() {
			t.Error("a value and an error")
		}
	})
}
