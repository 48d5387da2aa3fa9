package webhook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Provider is whose form a delivery has.
type Provider string

// The providers.
const (
	GitHub    Provider = "github"
	GitLab    Provider = "gitlab"
	Gitea     Provider = "gitea"
	Forgejo   Provider = "forgejo"
	Bitbucket Provider = "bitbucket" // Cloud, and Data Center
	Generic   Provider = "generic"   // whoever takes the trouble to send ours
)

// Kind is what a delivery is about.
type Kind int

// The kinds.
const (
	Other Kind = iota // something that moves no ref
	Ping              // somebody tries the webhook out
	Moved             // refs were made, moved or deleted
)

// Push is one delivery.
type Push struct {
	Provider Provider
	Kind     Kind
	// Refs are the full names of those that moved, as in refs/heads/main.
	Refs []string
	// Any says that it may be any ref: the delivery names none, or is too long to be read.
	Any bool
}

// Concerns says whether a ref that is followed may have moved.
func (p Push) Concerns(follows func(ref string) bool) bool {
	return p.Kind == Moved && (p.Any || slices.ContainsFunc(p.Refs, follows))
}

// ProviderOf says whose form a delivery has. It looks at the headers that only one provider sends. Forgejo sends Gitea's too, and both send GitHub's.
func ProviderOf(h Header) Provider {
	for _, known := range [...]struct {
		provider Provider
		headers  []string
	}{
		{Forgejo, []string{"X-Forgejo-Event", "X-Forgejo-Signature"}},
		{Gitea, []string{"X-Gitea-Event", "X-Gitea-Signature"}},
		{GitLab, []string{"X-Gitlab-Event", "X-Gitlab-Token"}},
		{Bitbucket, []string{"X-Event-Key"}},
		{GitHub, []string{"X-Github-Event"}},
	} {
		if slices.ContainsFunc(known.headers, func(name string) bool { return h.Get(name) != "" }) {
			return known.provider
		}
	}
	return Generic
}

// parse reads what a delivery is about. The body is cut off when it is not whole.
func (p *Push) parse(h Header, body []byte, whole bool) error {
	var read func([]byte) error
	switch p.Provider {
	case GitHub:
		read = p.event(h.Get("X-Github-Event"))
	case Gitea:
		read = p.event(h.Get("X-Gitea-Event"))
	case Forgejo:
		read = p.event(h.Get("X-Forgejo-Event"))
	case GitLab:
		read = p.gitlab(h.Get("X-Gitlab-Event"))
	case Bitbucket:
		read = p.bitbucket(h.Get("X-Event-Key"))
	case Generic:
		p.Kind, read = Moved, p.generic
	}
	if p.Kind != Moved {
		return nil
	}
	if !whole {
		p.Any = true
		return nil
	}
	return read(body)
}

// event takes GitHub's events, and those of Gitea and Forgejo, which have the same names. Of a branch that is made or deleted
// GitHub tells by a push, too.
func (p *Push) event(name string) func([]byte) error {
	switch name {
	case "push":
		p.Kind = Moved
	case "ping":
		p.Kind = Ping
	case "delete": // Gitea's, of a branch or tag: its ref is a short name
		p.Kind = Moved
		return p.deleted
	}
	return p.oneRef
}

// oneRef reads {"ref": "refs/heads/main"}.
func (p *Push) oneRef(body []byte) error {
	var in struct{ Ref string }
	if err := decode(body, &in); err != nil {
		return err
	}
	return p.add(in.Ref)
}

// deleted reads {"ref": "main", "ref_type": "branch"}.
func (p *Push) deleted(body []byte) error {
	var in struct {
		Ref  string
		Type string `json:"ref_type"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	return p.add(full(in.Type, in.Ref))
}

// gitlab takes GitLab's events. A system hook says in its body what it is about; one of a repository with many refs names
// them in refs.
func (p *Push) gitlab(event string) func([]byte) error {
	switch event {
	case "Push Hook", "Tag Push Hook":
		p.Kind = Moved
		return p.oneRef
	case "System Hook":
		p.Kind = Moved
	}
	return func(body []byte) error {
		var in struct {
			Event string `json:"event_name"`
			Ref   string
			Refs  []string
		}
		if err := decode(body, &in); err != nil {
			return err
		}
		switch in.Event {
		case "push", "tag_push":
			return p.add(in.Ref)
		case "repository_update":
			return p.add(in.Refs...)
		}
		p.Kind = Other
		return nil
	}
}

// bitbucket takes the events of Bitbucket Cloud (repo:push) and of Data Center (the others).
func (p *Push) bitbucket(event string) func([]byte) error {
	switch event {
	case "repo:push":
		p.Kind = Moved
		return p.cloud
	case "repo:refs_changed", "mirror:repo_synchronized":
		p.Kind = Moved
	case "diagnostics:ping":
		p.Kind = Ping
	}
	return p.dataCenter
}

// cloud reads push.changes. A new branch has no old, and a deleted one no new.
func (p *Push) cloud(body []byte) error {
	type ref struct{ Type, Name string }
	var in struct {
		Push struct{ Changes []struct{ New, Old *ref } }
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	var refs []string
	for _, c := range in.Push.Changes {
		for _, r := range []*ref{c.New, c.Old} {
			if r != nil {
				refs = append(refs, full(r.Type, r.Name))
			}
		}
	}
	return p.add(refs...)
}

// dataCenter reads changes. A mirror that has taken over too many says only that.
func (p *Push) dataCenter(body []byte) error {
	var in struct {
		Changes []struct {
			Ref struct{ ID string }
		}
		Limit bool `json:"refLimitExceeded"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	if in.Limit {
		p.Any = true
		return nil
	}
	var refs []string
	for _, c := range in.Changes {
		refs = append(refs, c.Ref.ID)
	}
	return p.add(refs...)
}

// generic reads ours: nothing, or {"ref": "refs/heads/main"}, or {"ref": "main"}, or {}.
func (p *Push) generic(body []byte) error {
	if len(body) == 0 {
		p.Any = true
		return nil
	}
	var in struct{ Ref string }
	if err := decode(body, &in); err != nil {
		return err
	}
	if in.Ref == "" {
		p.Any = true
		return nil
	}
	if !strings.HasPrefix(in.Ref, "refs/") {
		in.Ref = full("branch", in.Ref)
	}
	return p.add(in.Ref)
}

func (p *Push) add(refs ...string) error {
	if len(refs) == 0 || slices.Contains(refs, "") {
		return fmt.Errorf("%w: it is a push and names no ref", ErrMalformed)
	}
	p.Refs = refs
	return nil
}

// full is a ref's whole name.
func full(kind, name string) string {
	if kind == "tag" {
		return "refs/tags/" + name
	}
	return "refs/heads/" + name
}

func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		// The error would repeat some of what was sent.
		return fmt.Errorf("%w: it is not the JSON of this event", ErrMalformed)
	}
	return nil
}
