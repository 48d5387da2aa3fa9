package resource

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Kind is what a resource is: manifest.KindNetwork or manifest.KindStorage.
type Kind string

// The kinds.
const (
	Network Kind = manifest.KindNetwork
	Pool    Kind = manifest.KindStorage
)

// Resource is a network or a storage pool that a host should have.
type Resource struct {
	Kind Kind
	// Name is libvirt's, Document the metadata.name, Source where the document stands (file:line).
	Name, Document, Source string
	// UUID is derived, or what the document says; an adopted one keeps its own.
	UUID     string
	UUIDSaid bool
	// XML is all of it, as far as it is declared.
	XML *domxml.Element
	// Digest is of all that makes it what it is.
	Digest    string
	Active    bool
	Autostart bool
	Adopt     bool
	Restart   bool // it may be started anew for a change
	// Build says that its folder is made when it is not there.
	Build bool
	// Secret is where the password is that libvirt has to know to log in; nil for none. Token stands for it, once it is opened.
	Secret *manifest.SecretRef
	Token  string
	// Header is the document's, for problems.
	Header *manifest.Header
}

// UUID is that of a resource of ours: the same for the same fleet, kind and name, so that what has it is known to be ours.
func UUID(fleet string, kind Kind, name string) string {
	space := uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://gitvirt.io/fleet/"+fleet+"/"+string(kind)))
	return uuid.NewSHA1(space, []byte(name)).String()
}

// bridgeMAC is the same for the same fleet and network: locally administered and unicast, as those of instances.
func bridgeMAC(fleet, network string) string {
	h := sha256.Sum256([]byte(fleet + "\x00Network\x00" + network))
	return fmt.Sprintf("52:%02x:%02x:%02x:%02x:%02x", h[0], h[1], h[2], h[3], h[4])
}

func made(kind Kind, h *manifest.Header, o *manifest.Ownership, fleet, name string) Resource {
	r := Resource{
		Kind: kind, Name: name, Document: h.Metadata.Name, Source: fmt.Sprintf("%s:%d", h.At.File, h.At.Line), Header: h,
		UUID: UUID(fleet, kind, name), Active: o.IsActive(), Autostart: o.StartsItself(), Adopt: o.Adopt,
		Restart: o.Rollout == manifest.RolloutRestart,
	}
	if o.UUID != "" {
		r.UUID, r.UUIDSaid = strings.ToLower(o.UUID), true
	}
	return r
}

// finish lays what is said in libvirt's own language over the rendered XML.
func (r *Resource) finish(root *domxml.Element, own, field string) *manifest.FieldProblem {
	root.Children = append([]*domxml.Element{text("name", r.Name), text("uuid", r.UUID)}, root.Children...)
	if strings.TrimSpace(own) != "" {
		over, err := domxml.Parse(own)
		if err != nil {
			return &manifest.FieldProblem{Field: field, Message: fmt.Sprintf("is no XML: %v", err)}
		}
		if over.Name != root.Name {
			return &manifest.FieldProblem{Field: field, Message: fmt.Sprintf("the root element is <%s>: it has to be <%s>", over.Name, root.Name)}
		}
		for _, name := range []string{"name", "uuid"} {
			if over.Child(name) != nil {
				return &manifest.FieldProblem{Field: field, Message: fmt.Sprintf("<%s> is said by spec.%s: leave it out", name, name)}
			}
		}
		root = domxml.Merge(root, over)
	}
	r.XML = root
	r.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Appendf(nil, "%s\n%t %t %t", root, r.Active, r.Autostart, r.Build)))
	return nil
}

// text is an element that holds a text.
func text(name, s string) *domxml.Element {
	e := domxml.New(name)
	e.Text = s
	return e
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Secret is one that libvirt keeps for a pool.
type Secret struct {
	UUID, Usage, Kind, Token string
}

// LibvirtSecret is the secret that libvirt has to keep for the resource; nil for none.
func (r Resource) LibvirtSecret() *Secret {
	if r.Secret == nil || r.Token == "" {
		return nil
	}
	kind := "iscsi"
	if r.XML.Child("source/auth").Attr("type") == "ceph" {
		kind = "ceph"
	}
	return &Secret{UUID: SecretUUID(r.UUID), Usage: "gitvirt-pool/" + r.Name, Kind: kind, Token: r.Token}
}

// Scratch is the name, and the bridge, of a network that guests of another one are on for a moment while they are connected
// to it again.
func Scratch(network string) (name, bridge string) {
	h := sha256.Sum256([]byte(network))
	return "gitvirt-replug-" + network, fmt.Sprintf("gvr%x", h[:4])
}
