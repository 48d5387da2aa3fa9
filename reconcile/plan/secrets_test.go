package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

const chapID = "11111111-2222-4333-8444-555555555555"

// withSecret is an instance with a secret of a value.
func withSecret(t *testing.T, token string) *render.Instance {
	t.Helper()
	i := instance(t, "a")
	i.State = manifest.StateStopped
	if token != "" {
		i.Secrets = []render.Secret{{Name: "chap", Kind: "iscsi", UUID: chapID, Token: token}}
		i.Digest += token
	}
	return i
}

// kept are libvirt's secrets.
func libvirts(usages ...string) []LibvirtSecret {
	list := []LibvirtSecret{}
	for _, u := range usages {
		id := chapID
		if !strings.HasSuffix(u, "/chap") {
			id = strings.ReplaceAll(chapID, "1", "9")
		}
		list = append(list, LibvirtSecret{UUID: id, Usage: u})
	}
	return list
}

// opsOf are the steps of a plan: what is defined or written down with the tokens in it.
func opsOf(p Plan) []string {
	var ops []string
	for _, a := range p.Actions {
		for _, s := range a.Steps {
			op := string(s.Op)
			if s.Op == OpMetadata {
				op += fmt.Sprint(s.Metadata.Secrets)
			}
			if s.Op == OpDefine {
				m, err := metadata.Parse(s.XML)
				if err != nil {
					return []string{err.Error()}
				}
				op += fmt.Sprint(m.Secrets)
			}
			for _, k := range s.Secrets {
				op += " " + k.Name
			}
			ops = append(ops, op)
		}
	}
	return ops
}

// TestSecretSteps: a value is with libvirt before a record says so, and gone before the machine is.
func TestSecretSteps(t *testing.T) {
	for name, tt := range map[string]struct {
		old, recorded, want string // tokens
		absent, gone        bool   // there is no domain; it is not wanted
		have                []LibvirtSecret
		ops                 []string
	}{
		"a new machine":     {want: "hmac:1", absent: true, have: libvirts(), ops: []string{"volumes", "define[]", "secrets chap", "metadata[{chap hmac:1}]"}},
		"in sync":           {old: "hmac:1", recorded: "hmac:1", want: "hmac:1", have: libvirts("gitvirt/a/chap")},
		"killed before set": {old: "hmac:1", want: "hmac:1", have: libvirts("gitvirt/a/chap"), ops: []string{"secrets chap", "metadata[{chap hmac:1}]"}},
		"lost":              {old: "hmac:1", recorded: "hmac:1", want: "hmac:1", have: libvirts(), ops: []string{"metadata[]", "secrets chap", "metadata[{chap hmac:1}]"}},
		"not known":         {old: "hmac:1", recorded: "hmac:1", want: "hmac:1", have: nil},
		"rotated":           {old: "hmac:1", recorded: "hmac:1", want: "hmac:2", have: libvirts("gitvirt/a/chap"), ops: []string{"volumes", "secrets chap", "define[{chap hmac:2}]"}},
		"taken out":         {old: "hmac:1", recorded: "hmac:1", have: libvirts("gitvirt/a/chap"), ops: []string{"volumes", "define[]"}},
		"stale":             {have: libvirts("gitvirt/a/chap"), ops: []string{"delete-secrets chap"}},
		"another's":         {have: libvirts("gitvirt/b/other", "gitvirt/ab/other")},
		"removed":           {old: "hmac:1", recorded: "hmac:1", gone: true, have: libvirts("gitvirt/a/chap", "gitvirt/b/other"), ops: []string{"delete-secrets chap", "undefine"}},
	} {
		w := Wanted{Host: "h", Revision: "c", Budget: 3}
		if !tt.gone {
			w.Instances = []*render.Instance{withSecret(t, tt.want)}
		}
		world := World{Secrets: tt.have}
		if !tt.absent {
			xml, meta := creation(withSecret(t, tt.old))
			meta.Secrets = nil
			if tt.recorded != "" {
				meta.Secrets = []metadata.Secret{{Name: "chap", Token: tt.recorded}}
			}
			meta.Put(xml)
			world.Domains = []Domain{{Name: "a", UUID: instance(t, "a").UUID, ID: -1, State: DomainShutoff, Persistent: true,
				Inactive: XML{Packed: Plain(xml.String()), Hash: "1", Meta: &meta}}}
		}
		p, _ := Make(w, world, Memory{Now: time.Unix(1000, 0)})
		if got := opsOf(p); !slices.Equal(got, tt.ops) {
			t.Errorf("%s: %q, want %q", name, got, tt.ops)
		}
	}
}

// TestARotatedSecretIsStaged: the running machine has the old value, and is told so; a rollout that restarts does.
func TestARotatedSecretIsStaged(t *testing.T) {
	for rollout, restarts := range map[manifest.Rollout]bool{manifest.RolloutStage: false, manifest.RolloutLive: false, manifest.RolloutRestart: true} {
		was, now := withSecret(t, "hmac:1"), withSecret(t, "hmac:2")
		now.State, now.Rollout = manifest.StateRunning, rollout
		xml, meta := creation(now)
		_, live := creation(was)
		meta.Run, live.Run, meta.Outcome = 1, 1, metadata.OutcomeStarted
		d := Domain{Name: "a", UUID: now.UUID, ID: 3, State: DomainRunning, Persistent: true, Autostart: true,
			Inactive: XML{Packed: Plain(xml.String()), Hash: "1", Meta: &meta}, Live: XML{Packed: Plain(xml.String()), Hash: "2", Meta: &live}}
		p, all := Make(Wanted{Host: "h", Instances: []*render.Instance{now}}, World{Domains: []Domain{d}, Secrets: libvirts("gitvirt/a/chap")}, Memory{Now: time.Unix(1000, 0)})
		if s := all[0].Staged; len(s) != 1 || s[0].Change != (Change{"secrets[chap]", "hmac:1", "hmac:2"}) || !s[0].Restart {
			t.Errorf("%s: staged = %+v", rollout, s)
		}
		if got := slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Effect == EffectRestart }); got != restarts {
			t.Errorf("%s: restarts = %v: %+v", rollout, got, p.Actions)
		}
	}
}

// TestALockedMachineStays: neither is it touched, nor does it hold up the removal of another.
func TestALockedMachineStays(t *testing.T) {
	world := World{Secrets: libvirts()}
	for _, name := range []string{"a", "b"} {
		i := instance(t, name)
		xml, meta := creation(i)
		meta.Outcome = metadata.OutcomeStopped
		meta.Put(xml)
		world.Domains = append(world.Domains, Domain{Name: name, UUID: i.UUID, ID: -1, State: DomainShutoff, Persistent: true, Inactive: XML{Packed: Plain(xml.String()), Hash: name, Meta: &meta}})
	}
	p, all := Make(Wanted{Host: "h", Budget: 3, Locked: map[string]string{"a": "x.age cannot be read"}}, world, Memory{Now: time.Unix(1000, 0)})
	if len(p.Actions) != 2 || p.Actions[0].Effect != EffectBlocked || p.Actions[0].Reason != "Secret" || p.Actions[1].Effect != EffectRemove || all[0].Phase != PhaseStopped {
		t.Errorf("%+v", p.Actions)
	}
}

// TestAnotherPassphraseIsChecked: before libvirt is given a passphrase, it is checked whether it opens what is there.
func TestAnotherPassphraseIsChecked(t *testing.T) {
	volumes := []render.Volume{{Name: "plain"}, {Name: "same", Encryption: &render.Encryption{Token: "hmac:1"}}, {Name: "other", Encryption: &render.Encryption{Token: "hmac:2"}}}
	m := metadata.Metadata{Secrets: []metadata.Secret{{Name: "volumes/same", Token: "hmac:1"}, {Name: "volumes/other", Token: "hmac:1"}}}
	for _, v := range checked(volumes, m) {
		if v.Encryption != nil && v.Encryption.Check != (v.Name == "other") {
			t.Errorf("%s is checked: %v", v.Name, v.Encryption.Check)
		}
	}
	if volumes[2].Encryption.Check {
		t.Error("what was given is changed")
	}
}
