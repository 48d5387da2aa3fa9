package manifest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// SecretRef says where a secret is; exactly one of File, HostFile and Name is set. What is there is the secret itself, or a
// Secret manifest of Kubernetes that has it under a key.
type SecretRef struct {
	// File is one of the repository that is encrypted with age, relative to the document's folder.
	//
	// Read makes it relative to the repository. A set does not have its content: only the machine's host needs it.
	File string `json:"file,omitempty"`
	// HostFile is a file of the host, below a folder that its agent's secrets.hostDirs names.
	HostFile string `json:"hostFile,omitempty"`
	// Name is KubeVirt's: NAME is the file NAME.age beside the document.
	Name string `json:"name,omitempty"`
	// Key is that of the value in a Secret manifest. Where it is left out, KubeVirt's usual ones are looked for (userdata,
	// networkdata), and then its only one is taken.
	Key string `json:"key,omitempty"`
}

// Secret is one that domainXML refers to by its name: usage='secret:NAME' in a <secret> of a disk's <auth> or <encryption>,
// passwd='secret:NAME' in <graphics>, secret='secret:NAME' in a TPM's <encryption>.
type Secret struct {
	// Name is a DNS label.
	Name string `json:"name"`
	// SecretRef says where it is.
	SecretRef *SecretRef `json:"secretRef"`
}

// Encryption has QEMU encrypt what is written to a volume (LUKS).
type Encryption struct {
	// SecretRef says where the passphrase is. It opens the volume for as long as that is there: to change it, give the volume
	// the new one with qemu-img amend first.
	SecretRef *SecretRef `json:"secretRef"`
}

// SecretAt is a secret ref with its place in a spec.
type SecretAt struct {
	Field string
	Ref   *SecretRef
}

// SecretRefs are all that a spec has, in the order of its fields.
func (s *InstanceSpec) SecretRefs() []SecretAt {
	var all []SecretAt
	add := func(field string, ref *SecretRef) {
		if ref != nil {
			all = append(all, SecretAt{field, ref})
		}
	}
	for i, x := range s.Secrets {
		add(fmt.Sprintf("secrets[%d].secretRef", i), x.SecretRef)
	}
	for i, v := range s.Volumes {
		for n, c := range []*CloudInit{v.CloudInitNoCloud, v.CloudInitConfigDrive} {
			if c != nil {
				at := fmt.Sprintf("volumes[%d].%s.", i, seedKinds()[n])
				add(at+"secretRef", c.UserDataSecretRef)
				add(at+"networkDataSecretRef", c.NetworkDataSecretRef)
			}
		}
		if v.Volume != nil && v.Volume.Encryption != nil {
			add(fmt.Sprintf("volumes[%d].volume.encryption.secretRef", i), v.Volume.Encryption.SecretRef)
		}
	}
	return all
}

// refTree is a secret ref in the tree of a spec.
type refTree struct {
	field string
	tree  map[string]any
}

// secretsOf are the secret refs in the tree of a spec.
func secretsOf(tree map[string]any) []refTree {
	var all []refTree
	add := func(field string, of any, names ...string) {
		m, _ := of.(map[string]any)
		for _, name := range names {
			if ref, ok := m[name].(map[string]any); ok {
				all = append(all, refTree{joinField(field, name), ref})
			}
		}
	}
	list := func(name string) []any {
		l, _ := tree[name].([]any)
		return l
	}
	for i, s := range list("secrets") {
		add(fmt.Sprintf("secrets[%d]", i), s, "secretRef")
	}
	for i, v := range list("volumes") {
		m, _ := v.(map[string]any)
		for _, kind := range seedKinds() {
			add(fmt.Sprintf("volumes[%d].%s", i, kind), m[kind], "secretRef", "networkDataSecretRef")
		}
		if volume, ok := m["volume"].(map[string]any); ok {
			add(fmt.Sprintf("volumes[%d].volume.encryption", i), volume["encryption"], "secretRef")
		}
	}
	return all
}

func seedKinds() []string { return []string{"cloudInitNoCloud", "cloudInitConfigDrive"} }

// SecretsOf are the encrypted files that a spec's tree names, once Read has made their paths relative to the repository.
func SecretsOf(tree Tree) []string {
	var all []string
	for _, ref := range secretsOf(tree) {
		if name, _ := ref.tree["file"].(string); name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// secretPaths makes the paths of secret refs relative to the repository; a name becomes the path that it stands for.
func (r *reader) secretPaths(doc *Document, at string) []FieldProblem {
	var problems []FieldProblem
	join := func(field, file, name string) string {
		if file == "" && name != "" {
			file = name + ".age"
		}
		if file == "" {
			return ""
		}
		joined, fault := repositoryPath(r.at.File, file)
		if fault != "" {
			problems = append(problems, FieldProblem{joinField(field, "file"), fault})
		}
		return joined
	}
	if run, ok := doc.object.(*RunState); ok && run.Spec.Attach != nil {
		for _, s := range (&InstanceSpec{Volumes: run.Spec.Attach.Volumes}).SecretRefs() {
			if file := join("spec.attach."+s.Field, s.Ref.File, s.Ref.Name); file != "" {
				s.Ref.File, s.Ref.Name = file, ""
			}
		}
		return problems
	}
	if pool, ok := doc.object.(*StoragePool); ok && pool.Spec.Source != nil && pool.Spec.Source.Auth != nil && pool.Spec.Source.Auth.SecretRef != nil {
		ref := pool.Spec.Source.Auth.SecretRef
		if file := join("spec.source.auth.secretRef", ref.File, ref.Name); file != "" {
			ref.File, ref.Name = file, ""
		}
		return problems
	}
	for _, ref := range secretsOf(doc.spec()) {
		file, _ := ref.tree["file"].(string)
		name, _ := ref.tree["name"].(string)
		if joined := join(joinField(at, ref.field), file, name); joined != "" {
			ref.tree["file"] = joined
			delete(ref.tree, "name")
		}
	}
	return problems
}

// secretNamePattern is a DNS subdomain, as Secrets of Kubernetes have it for a name.
const secretNamePattern = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`

var secretNameForm = regexp.MustCompile(secretNamePattern)

// secretRef checks the form of a ref.
func (c *specChecker) secretRef(at string, r *SecretRef) {
	if r == nil {
		if !c.partial {
			c.add(at, "is missing; say file, hostFile or name")
		}
		return
	}
	var set []string
	for _, f := range []struct{ name, value string }{{"file", r.File}, {"hostFile", r.HostFile}, {"name", r.Name}} {
		if f.value != "" {
			set = append(set, f.name)
		}
	}
	c.oneOf(at, set, []string{"file", "hostFile", "name"}, c.partial)
	if r.Name != "" && (len(r.Name) > 253 || !secretNameForm.MatchString(r.Name)) {
		c.add(at+".name", quoted(r.Name)+" is not the name of a Secret; write lower-case letters, digits, dashes and dots")
	}
	switch f := r.HostFile; {
	case f == "":
	case strings.ContainsFunc(f, func(r rune) bool { return r < ' ' }):
		c.add(at+".hostFile", quoted(f)+" has control characters")
	case path.IsAbs(f):
		c.add(at+".hostFile", quoted(f)+" is an absolute path; say it relative to the folder that the agent's secrets.hostDirs names")
	case path.Clean(f) != f || f == "." || f == ".." || strings.HasPrefix(f, "../"):
		c.add(at+".hostFile", quoted(f)+" is not the shortest form of a path below a folder")
	}
}

func (c *specChecker) secrets(list []Secret) {
	names := seen{}
	for i, s := range list {
		at := fmt.Sprintf("secrets[%d]", i)
		c.label(at+".name", s.Name)
		names.again(&c.checker, "secrets", "name", s.Name, "secret", i)
		c.secretRef(at+".secretRef", s.SecretRef)
	}
}
