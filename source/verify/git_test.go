package verify

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// workshop is a repository of git's, and the programs that make keys and signatures.
type workshop struct {
	t   testing.TB
	dir string
	env []string
}

func newWorkshop(t testing.TB) *workshop {
	t.Helper()
	// gpg-agent's socket needs a short path.
	dir, err := os.MkdirTemp("", "gv")
	if err != nil {
		t.Fatal(err)
	}
	w := &workshop{t: t, dir: dir}
	w.env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GNUPGHOME="+w.path("gpg"),
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.org", "SSH_AUTH_SOCK=", "LC_ALL=C")
	t.Cleanup(func() {
		for _, home := range []string{"gpg", "trusted"} {
			if _, err := os.Stat(w.path(home)); err == nil {
				w.run("gpgconf", "--homedir", w.path(home), "--kill", "all")
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, d := range []string{"gpg", "trusted"} {
		if err := os.Mkdir(w.path(d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.run("git", "init", "-q", "-b", "main", ".")
	return w
}

func (w *workshop) path(name string) string { return filepath.Join(w.dir, name) }

// command is a program in the workshop's folder; words before it that have a = are its environment.
func (w *workshop) command(words ...string) *exec.Cmd {
	env := w.env
	for strings.Contains(words[0], "=") {
		env = append(env[:len(env):len(env)], words[0])
		words = words[1:]
	}
	c := exec.Command(words[0], words[1:]...)
	c.Dir, c.Env = w.dir, env
	return c
}

func (w *workshop) run(words ...string) string {
	w.t.Helper()
	out, err := w.command(words...).Output()
	if err != nil {
		if e, ok := err.(*exec.ExitError); ok {
			err = fmt.Errorf("%w: %s", err, e.Stderr)
		}
		w.t.Fatalf("%v: %v", words, err)
	}
	return strings.TrimSpace(string(out))
}

func (w *workshop) write(name, text string) string {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

func (w *workshop) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// object is an object as git stores it.
func (w *workshop) object(name string) []byte {
	w.t.Helper()
	out, err := w.command("git", "cat-file", w.run("git", "cat-file", "-t", name), name).Output()
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// store stores an object, whatever it is like.
func (w *workshop) store(kind string, raw []byte) string {
	w.t.Helper()
	c := w.command("git", "hash-object", "--literally", "-t", kind, "-w", "--stdin")
	c.Stdin = bytes.NewReader(raw)
	out, err := c.Output()
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a signed commit, by what git is told with options like "-c key=value".
func (w *workshop) commit(date string, options ...string) []byte {
	w.t.Helper()
	words := append([]string{"GIT_COMMITTER_DATE=" + date, "git"}, options...)
	w.run(append(words, "commit", "-q", "-S", "--allow-empty", "-m", "Say\n\nmore")...)
	return w.object("HEAD")
}

// sshKey makes a key and returns its type and base64.
func (w *workshop) sshKey(name, kind string) string {
	w.t.Helper()
	w.run("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", w.path(name))
	return strings.Join(strings.Fields(w.read(name + ".pub"))[:2], " ")
}

// certify makes NAME-cert.pub of a copy of a key.
func (w *workshop) certify(ca, key, name string, options ...string) {
	w.t.Helper()
	w.write(name, w.read(key))
	if err := os.Chmod(w.path(name), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.write(name+".pub", w.read(key+".pub"))
	words := append([]string{"ssh-keygen", "-q", "-s", w.path(ca), "-I", name}, options...)
	w.run(append(words, w.path(name+".pub"))...)
}
