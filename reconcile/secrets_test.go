package reconcile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render/secret"
	"github.com/gitvirt/gitvirt/test/fakevirt"
)

// opener opens what envelope makes.
type opener struct{}

const envelopeEnd = "\n--- AAAA\n"

func envelope(text string) string {
	return "age-encryption.org/v1\n-> X25519 AAAA\nAAAA" + envelopeEnd + text
}

func (opener) Open(file []byte) (secret.Value, error) {
	_, text, _ := bytes.Cut(file, []byte(envelopeEnd))
	return secret.NewValue(text), nil
}
func (opener) Host(string) (secret.Value, error) { return secret.Value{}, errors.New("there is none") }
func (opener) Token(v secret.Value) string       { return secret.Token([]byte("key"), v.Bytes()) }
func (opener) Epoch() uint64                     { return 0 }

// screen is a spec whose screen has a password.
func screen(spec string) string {
	return spec + `, secrets: [{name: s, secretRef: {file: s.age}}], domainXML: "<domain><devices><graphics type='vnc' passwd='secret:s'/></devices></domain>"`
}

// has wants the definition to have the password.
func (a *agent) has(password string) {
	a.t.Helper()
	if text, token := a.domain("web").Inactive.Text(), (opener{}).Token(secret.NewValue([]byte(password))); !strings.Contains(text, token) {
		a.t.Errorf("the password is not %q:\n%s", password, text)
	}
}

// TestARollbackTakesTheSecretBackToo: the version that a machine goes back to is completed with the files of its revision.
func TestARollbackTakesTheSecretBackToo(t *testing.T) {
	withOracle(t, func(a *agent, _ *fakevirt.Libvirt, o *oracle) {
		a.secrets = opener{}
		a.restart()
		version := func(port int, guest, password string) {
			a.repo.sealed = map[string]string{"s.age": envelope(password)}
			a.repo.commit(t, docs(config("web", "rollout: Restart\n  rollback: OnFailure", screen(probed(port, guest))), run("web", "state: Running")), 0)
		}
		version(1, "64Mi", "first")
		a.settle(3)
		a.quiet()
		a.has("first")
		o.bad["2"] = "connection refused"
		version(2, "128Mi", "second")
		a.settle(3)
		a.has("second")
		for range 60 {
			a.settle(1)
			if slices.Contains(a.blocked("web"), "RolledBack") {
				break
			}
		}
		a.settle(20)
		a.has("first")
		if got := a.memoryOf("web"); got != old {
			t.Errorf("it runs with %s KiB", got)
		}
		a.restart()
		a.settle(3)
		a.has("first")
	})
}

// TestALostSecretIsTheLastGoodOnes: where a commit loses the file of a secret, or breaks it, the machine is what the last good
// revision made of it, for an agent that begins then, too.
func TestALostSecretIsTheLastGoodOnes(t *testing.T) {
	for name, sealed := range map[string]map[string]string{"lost": nil, "cut off": {"s.age": "age-encryption.org/v1\n-> X"}, "plain": {"s.age": "geheim"}} {
		t.Run(name, func(t *testing.T) {
			with(t, func(a *agent, l *fakevirt.Libvirt) {
				a.secrets = opener{}
				a.restart()
				good := docs(config("web", "", screen(small)), run("web", "state: Running"))
				a.repo.sealed = map[string]string{"s.age": envelope("first")}
				a.repo.commit(t, good, 0)
				a.expect("web create NoDomain", "web start Wanted")
				a.quiet()
				a.repo.sealed = sealed
				a.repo.commit(t, good, 0)
				a.quiet()
				a.has("first")
				a.restart()
				a.quiet()
				x := a.assessment("web")
				if x.Instance == nil || x.Instance.Revision != commitName(1) {
					t.Errorf("it is left alone, and not what the last good revision made of it: %+v", x.Blocked)
				}
				state, err := os.ReadFile(filepath.Clean(a.state))
				if err != nil || bytes.Contains(state, []byte("first")) {
					t.Errorf("the agent's state is %s, %v", state, err)
				}
			})
		})
	}
}
