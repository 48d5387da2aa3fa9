package render

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/secret"
)

// Secrets opens secrets. What it opens depends on the host, and stays the same for as long as Epoch does.
type Secrets interface {
	// Open decrypts a file of the repository.
	Open(file []byte) (secret.Value, error)
	// Host reads a file of the host.
	Host(name string) (secret.Value, error)
	// Token stands for a value. Who hands values to libvirt knows it.
	Token(v secret.Value) string
	// Epoch is another one when a host's file or key has changed.
	Epoch() uint64
}

// Secret is one that libvirt keeps for an instance.
type Secret struct {
	// Name is that in the spec's secrets, or volumes/NAME for the passphrase of a volume.
	Name string
	// Kind is libvirt's type of its usage: ceph, iscsi, volume or vtpm.
	Kind string
	UUID string
	// Token stands for the value.
	Token string
}

// UsagePrefix begins the usages of libvirt's secrets that are gitvirt's.
const UsagePrefix = "gitvirt/"

// Usage is what libvirt knows the secret by, beside its UUID.
func (s Secret) Usage(instance string) string { return UsageOf(instance) + s.Name }

// UsageOf begins the usages of all secrets of an instance.
func UsageOf(instance string) string { return UsagePrefix + instance + "/" }

// Encryption is that of a volume.
type Encryption struct {
	UUID  string // of libvirt's secret
	Token string // stands for the passphrase
	// Check has it checked that the passphrase opens a volume that is there.
	Check bool
}

// found is a secret that a spec refers to. Without the host's keys there is no value, and the token is of its place.
type found struct {
	value  secret.Value
	token  string
	sealed bool
}

// errLocked says that the documents are sound, and this host cannot use a secret that they refer to.
type errLocked struct{ error }

// findSecrets finds what a spec refers to. locked says that all that is wrong is the host's.
func findSecrets(in Input, o Options, spec *manifest.InstanceSpec) (all map[*manifest.SecretRef]found, problems []manifest.FieldProblem, locked bool) {
	refs := spec.SecretRefs()
	if len(refs) == 0 {
		return nil, nil, false
	}
	all, locked = make(map[*manifest.SecretRef]found, len(refs)), true
	for _, s := range refs {
		f, err := findSecret(in, o, s)
		if err != nil {
			var of errLocked
			locked = locked && errors.As(err, &of)
			problems = append(problems, manifest.FieldProblem{Field: s.Field, Message: err.Error()})
			continue
		}
		all[s.Ref] = f
	}
	return all, problems, locked && len(problems) > 0
}

func findSecret(in Input, o Options, s manifest.SecretAt) (found, error) {
	ref := s.Ref
	var content []byte
	var envelope secret.Envelope
	name := ref.HostFile
	if name == "" {
		name = ref.File
		var ok bool
		if content, ok = in.Text(name); !ok {
			return found{}, fmt.Errorf("there is no file %s in the repository: say a path that is relative to the document's folder", name)
		}
		var err error
		if envelope, err = secret.ReadEnvelope(content); errors.Is(err, secret.ErrPlain) {
			return found{}, fmt.Errorf("%s %w: whoever can read the repository knows what is in it; change that, and commit what age -R RECIPIENTS makes of it", name, err)
		} else if err != nil {
			return found{}, fmt.Errorf("%s %w", name, err)
		}
		if slices.Contains(envelope.Recipients, "a passphrase") {
			return found{}, fmt.Errorf("%s is encrypted with a passphrase, which no agent can type: encrypt it to the hosts' keys, with age -R RECIPIENTS", name)
		}
	}
	if o.Secrets == nil {
		return found{token: fmt.Sprintf("sealed:%x", sha256.Sum256(append([]byte(ref.HostFile+"\n"+ref.Key+"\n"), content...))), sealed: true}, nil
	}
	var v secret.Value
	var err error
	if ref.HostFile != "" {
		v, err = o.Secrets.Host(name)
	} else if v, err = o.Secrets.Open(content); err != nil {
		err = fmt.Errorf("%w; it is encrypted to: %s", err, envelope)
	}
	if err != nil {
		return found{}, errLocked{fmt.Errorf("%s cannot be read by this host: %w", name, err)}
	}
	v, err = secret.Find(v, ref.Key, usualKeys(s.Field)...)
	if err == nil && v.IsEmpty() {
		err = errors.New("is empty")
	}
	if err != nil {
		return found{}, errLocked{fmt.Errorf("%s %w", name, err)}
	}
	if !isSeed(s.Field) {
		v = v.Line()
	}
	if strings.HasSuffix(s.Field, ".encryption.secretRef") && !isText(v) {
		return found{}, errLocked{fmt.Errorf("%s is no text: a passphrase is one, in UTF-8", name)}
	}
	return found{value: v, token: o.Secrets.Token(v)}, nil
}

// isText says whether QEMU takes a value for a passphrase.
func isText(v secret.Value) bool {
	return utf8.Valid(v.Bytes()) && !slices.Contains(v.Bytes(), 0)
}

// isSeed says whether a secret is what a guest is set up with, and reaches it to the byte.
func isSeed(field string) bool {
	return strings.Contains(field, ".cloudInit") || strings.Contains(field, ".ignition.")
}

// usualKeys are the keys that KubeVirt looks for in a Secret.
func usualKeys(field string) []string {
	switch {
	case strings.Contains(field, ".containerDisk.") || strings.Contains(field, ".image."):
		return []string{".dockerconfigjson", ".dockercfg"}
	case !isSeed(field):
		return nil
	case strings.HasSuffix(field, ".networkDataSecretRef"):
		return []string{"networkdata", "networkData"}
	case strings.HasSuffix(field, ".metaDataSecretRef"):
		return []string{"metadata", "metaData"}
	}
	return []string{"userdata", "userData"}
}

// referral resolves what a domain says of secrets.
type referral struct {
	i        *Instance
	o        Options
	found    map[*manifest.SecretRef]found
	used     map[string]string // kinds, by name
	problems []manifest.FieldProblem
}

// refer puts libvirt's secrets and tokens in the places of what domainXML says of secrets. With the host's keys, every
// password becomes a token.
func (i *Instance) refer(domain *domxml.Element, o Options) []manifest.FieldProblem {
	r := referral{i: i, o: o, found: i.found, used: map[string]string{}}
	r.walk(domain, domxml.New(""))
	r.passwords(domain, nil)
	for n, s := range i.Spec.Secrets {
		if _, ok := r.used[s.Name]; !ok {
			r.problems = append(r.problems, manifest.FieldProblem{Field: fmt.Sprintf("secrets[%d].name", n),
				Message: fmt.Sprintf("nothing refers to it: say secret:%s in the domainXML, or take it out", s.Name)})
		}
	}
	return r.problems
}

const reference = "secret:"

func (r *referral) walk(e, parent *domxml.Element) {
	switch name, refers := strings.CutPrefix(e.Attr("usage"), reference); {
	case e.Name != "secret" || !refers:
	case parent.Name == "auth":
		r.libvirts(e, name, e.Attr("type"), "usage", "uuid")
	case parent.Name == "encryption":
		r.libvirts(e, name, "volume", "usage", "uuid")
	default:
		r.problem("usage='secret:%s' is in a <%s>; it can be in <auth> and <encryption>", name, parent.Name)
	}
	if name, refers := strings.CutPrefix(e.Attr("secret"), reference); e.Name == "encryption" && refers {
		r.libvirts(e, name, "vtpm", "secret", "secret")
	}
	for _, c := range e.Children {
		r.walk(c, e)
	}
}

func (r *referral) problem(format string, args ...any) {
	r.problems = append(r.problems, manifest.FieldProblem{Field: "domainXML", Message: fmt.Sprintf(format, args...)})
}

// find finds a declared secret and notes what it is used for.
func (r *referral) find(name, kind string) (found, bool) {
	n := slices.IndexFunc(r.i.Spec.Secrets, func(s manifest.Secret) bool { return s.Name == name })
	if n < 0 {
		r.problem("refers to secret:%s, and secrets has none of that name", name)
		return found{}, false
	}
	if before, ok := r.used[name]; ok && before != kind {
		r.problem("secret:%s is used as %s and as %s: declare it twice, under two names", name, before, kind)
		return found{}, false
	}
	r.used[name] = kind
	return r.found[r.i.Spec.Secrets[n].SecretRef], true
}

// libvirts has libvirt keep a secret, and refers to it by its UUID.
func (r *referral) libvirts(e *domxml.Element, name, kind, from, to string) {
	if !slices.Contains([]string{"iscsi", "ceph", "volume", "vtpm"}, kind) {
		r.problem("secret:%s has the type %q; say iscsi or ceph", name, kind)
		return
	}
	f, ok := r.find(name, kind)
	if !ok {
		return
	}
	if kind == "ceph" && !f.sealed {
		// Ceph prints its keys in Base64, and libvirt wants the bytes.
		raw, err := base64.StdEncoding.DecodeString(string(f.value.Bytes()))
		if err != nil {
			r.problem("secret:%s is no key of Ceph's: it is Base64, as \"ceph auth get-key\" prints it", name)
			return
		}
		f.token = r.o.Secrets.Token(secret.NewValue(raw))
	}
	if kind == "volume" && !isText(f.value) {
		r.problem("secret:%s is no text: a passphrase is one, in UTF-8", name)
		return
	}
	e.RemoveAttr(from)
	e.SetAttr(to, r.i.keep(name, kind, f.token))
}

// keep adds a secret to those that libvirt keeps for the instance, and returns its UUID.
func (i *Instance) keep(name, kind, token string) string {
	s := Secret{Name: name, Kind: kind, UUID: secretUUID(i.UUID, name), Token: token}
	if !slices.Contains(i.Secrets, s) {
		i.Secrets = append(i.Secrets, s)
		slices.SortFunc(i.Secrets, func(a, b Secret) int { return strings.Compare(a.Name, b.Name) })
	}
	return s.UUID
}

// secretUUID is the same for the same instance and name.
func secretUUID(instance, name string) string {
	space, err := uuid.Parse(instance)
	if err != nil {
		space = uuid.NameSpaceOID
	}
	return uuid.NewSHA1(space, []byte("secret "+name)).String()
}

// secretTexts are hashes of the files that a machine's documents name, so that what was made of others is known.
func secretTexts(in Input) []any {
	trees := []manifest.Tree{}
	for _, l := range in.yielding() {
		trees = append(trees, l.tree)
	}
	if spec := in.Config.Spec.Template.Spec; spec.Mentions("ecretRef") {
		trees = append(trees, spec.Tree())
	}
	names := map[string]bool{}
	for _, name := range in.textNames() {
		names[name] = true
	}
	for _, t := range trees {
		for _, name := range manifest.SecretsOf(t) {
			names[name] = true
		}
	}
	if a := in.RunState.Spec.Attach; a != nil {
		for _, s := range (&manifest.InstanceSpec{Volumes: a.Volumes}).SecretRefs() {
			names[s.Ref.File] = true
		}
	}
	var all []any
	for _, name := range slices.Sorted(maps.Keys(names)) {
		text, _ := in.Text(name)
		all = append(all, name, sha256.Sum256(text))
	}
	return all
}

// Sealed has the placement read encrypted files, which only the hosts need whose machines name them.
func (p *Placement) Sealed(read func(path string) ([]byte, bool)) *Placement {
	c := *p
	c.sealed = read
	return &c
}
