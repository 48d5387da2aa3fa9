package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// secretsFor finds libvirt's secrets of an instance: nil when nobody knows which those are.
func secretsFor(world World) func(instance string) []LibvirtSecret {
	if world.Secrets == nil {
		return func(string) []LibvirtSecret { return nil }
	}
	by := map[string][]LibvirtSecret{}
	for _, s := range world.Secrets {
		if name, _, ok := strings.Cut(strings.TrimPrefix(s.Usage, render.UsagePrefix), "/"); ok {
			by[name] = append(by[name], s)
		}
	}
	return func(instance string) []LibvirtSecret { return append([]LibvirtSecret{}, by[instance]...) }
}

// secretsOf are an instance's secrets as a record has them.
func secretsOf(i *render.Instance) []metadata.Secret {
	var list []metadata.Secret
	for _, s := range i.Secrets {
		list = append(list, metadata.Secret{Name: s.Name, Token: s.Token})
	}
	return list
}

// tokenOf is what a record has for a secret; empty when it has none.
func tokenOf(m metadata.Metadata, name string) string {
	if n := slices.IndexFunc(m.Secrets, func(s metadata.Secret) bool { return s.Name == name }); n >= 0 {
		return m.Secrets[n].Token
	}
	return ""
}

// secretChanges are the secrets that the instance has with another value than the record.
func secretChanges(m metadata.Metadata, i *render.Instance) []Change {
	var changes []Change
	for _, s := range i.Secrets {
		if old := tokenOf(m, s.Name); old != "" && old != s.Token {
			changes = append(changes, Change{Path: "secrets[" + s.Name + "]", From: old, To: s.Token})
		}
	}
	return changes
}

// set is the step that gives libvirt the values of the instance's secrets.
func (a *Assessment) set() []Step {
	if len(a.Instance.Secrets) == 0 {
		return nil
	}
	return []Step{a.step(Step{Op: OpSecrets, Secrets: a.Instance.Secrets})}
}

// keep has libvirt keep the instance's secrets, and says so in the record, once they are there: nobody can ask libvirt
// whether a secret has a value, and a secret is made before it has one. It is for a domain that is there, because libvirt's
// secrets are known to be a machine's by its name, and go with it.
func (a *Assessment) keep(record metadata.Metadata) []Step {
	steps := a.set()
	if len(steps) > 0 {
		record.Secrets = secretsOf(a.Instance)
		steps = append(steps, a.step(Step{Op: OpMetadata, Metadata: &record, Config: true}))
	}
	return steps
}

// forget is the step that has libvirt forget all secrets of a domain that goes. It comes before the domain does, because
// its record is how they are known.
func (a *Assessment) forget(secrets []LibvirtSecret) []Step {
	if len(secrets) == 0 {
		return nil
	}
	s := Step{Op: OpDeleteSecrets}
	for _, have := range secrets {
		s.Secrets = append(s.Secrets, render.Secret{Name: strings.TrimPrefix(have.Usage, render.UsageOf(a.Name)), UUID: have.UUID})
	}
	return []Step{a.step(s)}
}

// settleSecrets puts back what libvirt has lost, and has it forget what neither the definition, which is in force, nor the
// running machine names. It returns what the record says of secrets then.
func (a *Assessment) settleSecrets(m metadata.Metadata) []metadata.Secret {
	i, d, have := a.Instance, a.Domain, a.secrets
	if have == nil {
		return m.Secrets
	}
	has := func(uuid string) bool {
		return slices.ContainsFunc(have, func(s LibvirtSecret) bool { return s.UUID == uuid })
	}
	var lost []string
	bare := m
	bare.Secrets = nil
	for _, s := range i.Secrets {
		if !has(s.UUID) || tokenOf(m, s.Name) != s.Token {
			lost = append(lost, s.Name)
		} else {
			bare.Secrets = append(bare.Secrets, metadata.Secret{Name: s.Name, Token: s.Token})
		}
	}
	if len(lost) > 0 {
		steps := a.keep(m)
		if len(bare.Secrets) < len(m.Secrets) {
			steps = append([]Step{a.step(Step{Op: OpMetadata, Metadata: &bare, Config: true})}, steps...)
		}
		a.act(EffectLive, "Secret", fmt.Sprintf("libvirt does not have %s: it is put back", strings.Join(lost, ", ")), nil, steps...)
		m.Secrets = secretsOf(i)
	}
	var stale []LibvirtSecret
	for _, s := range have {
		wanted := slices.ContainsFunc(i.Secrets, func(w render.Secret) bool { return w.UUID == s.UUID })
		if !wanted && !strings.Contains(d.Live.Text(), s.UUID) {
			stale = append(stale, s)
		}
	}
	if len(stale) > 0 {
		a.act(EffectLive, "Secret", "libvirt has a secret that no definition names any more: it is forgotten", nil, a.forget(stale)...)
	}
	return m.Secrets
}

// checked are volumes of which those are checked whose passphrase is another one than the record's: one that does not open
// what is there would lock the machine out of its own disk.
func checked(volumes []render.Volume, m metadata.Metadata) []render.Volume {
	volumes = slices.Clone(volumes)
	for n, v := range volumes {
		if v.Encryption == nil || tokenOf(m, "volumes/"+v.Name) == v.Encryption.Token {
			continue
		}
		e := *v.Encryption
		e.Check = true
		volumes[n].Encryption = &e
	}
	return volumes
}
