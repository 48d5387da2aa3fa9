package render

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/preference"
)

// Input is the documents of one instance.
type Input struct {
	Config       *manifest.Config
	Flavour      *manifest.Flavour  // nil: the config names none
	Presets      []*manifest.Preset // those that apply, in order
	Instancetype *manifest.Instancetype
	Preference   *manifest.Preference
	RunState     *manifest.RunState
	Group        *Group         // nil for a machine of its own
	Host         *manifest.Host // nil: there is no document of the host
	// Claims are those that the documents speak of, by name.
	Claims map[string]*manifest.Claim
	// Devices are the host's that the machine has, by the names that they have in it; Short says why it has not got one.
	Devices map[string]manifest.HostDevice
	Short   map[string]string
	// CPUs are the host's that the machine has to itself, in the order of its vCPUs; NoCPUs says why it has not got them.
	CPUs   []int
	NoCPUs string
	// Networks are the documents of the host's libvirt networks.
	Networks []*manifest.HostNetwork
	// Text returns a file of the revision; ok is false when there is none.
	Text func(path string) (text []byte, ok bool)
}

// Options are what completion needs beside documents.
type Options struct {
	// Fleet is the name of all hosts together; UUIDs and MACs are derived from it.
	Fleet string
	// Revision is the commit that the documents are of.
	Revision string
	// DomainType is kvm or qemu; kvm when empty.
	DomainType string
	// CacheDir is where the host keeps what is fetched for its machines; DefaultCacheDir when empty.
	CacheDir string
	// Secrets opens what documents refer to; nil where there are no keys: then only the forms of secrets are checked.
	Secrets Secrets
}

// DefaultCacheDir is below an agent's usual folder.
const DefaultCacheDir = "/var/lib/gitvirt/cache"

// Complete makes an instance of its documents: flavour, presets, config and defaults together, nothing left to default.
// The same input gives the same instance, to the byte. Problems name fields of the config's document.
func Complete(in Input, o Options) (*Instance, []manifest.Problem) {
	c, r := in.Config, in.RunState
	annotations := map[string]string{}
	if in.Flavour != nil {
		annotations["gitvirt.io/flavour"] = in.Flavour.Metadata.Name
	}
	tree, problems := merged(in)
	problem := func(field, message string) {
		if field == osAnnotation {
			field = strings.TrimSuffix(c.Written.Spec, "spec") + "metadata.annotations[" + osAnnotation + "]"
		} else {
			field = c.Written.Spec + "." + field
		}
		if slices.ContainsFunc(problems, func(p manifest.Problem) bool { return p.Field == field }) {
			return // one problem of a field is enough to mend it by
		}
		problems = append(problems, c.Problem(field, message))
	}
	said, _ := tree["domain"].(map[string]any)
	tree, bad := underlay(in, tree)
	for _, p := range bad {
		problem(p.Field, p.Message)
	}
	spec, bad := manifest.Decode(tree)
	for _, p := range bad {
		problem(p.Field, p.Message)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for _, p := range onHost(in, spec) {
		problem(p.Field, p.Message)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	own, field, err := ownXML(in, spec)
	if err != nil {
		problem(field, err.Error())
		return nil, problems
	}
	if o.DomainType == "" {
		o.DomainType = "kvm"
	}
	if o.CacheDir == "" {
		o.CacheDir = DefaultCacheDir
	}
	patience := progress(spec)
	states := spec.Domain.Firmware != nil && spec.Domain.Firmware.UUID != "" || own.Child("uuid") != nil
	fill(spec, o.Fleet, r.Metadata.Name)
	for _, p := range manifest.Validate(spec) {
		problem(p.Field, p.Message)
	}
	for _, p := range in.unserved(spec, unreached(spec)) {
		problem(p.Field, p.Message)
	}
	if in.Preference != nil {
		cpu := spec.Domain.CPU
		memory := (*manifest.Quantity)(nil)
		if spec.Domain.Memory != nil {
			memory = spec.Domain.Memory.Guest
		}
		for _, p := range preference.Requirements(&in.Preference.Spec, cpu.Sockets*cpu.Cores*cpu.Threads, memory) {
			problem(p.Field, p.Message)
		}
		maps.Copy(annotations, in.Preference.Spec.Annotations)
	}
	if in.Instancetype != nil {
		maps.Copy(annotations, in.Instancetype.Spec.Annotations)
	}
	if (spec.Domain.Memory == nil || spec.Domain.Memory.Guest == nil) && own.Child("memory") == nil {
		problem("domain.memory.guest", "is missing: say how much memory the guest has, here, in a flavour or in domainXML")
	}
	i := &Instance{
		Name: r.Metadata.Name, UUID: string(spec.Domain.Firmware.UUID), Config: c.Metadata.Name, Flavour: c.Spec.Flavour,
		Host: r.Spec.Host, State: r.Spec.State, Run: max(r.Spec.Run, 1), Revision: o.Revision,
		Labels: c.Spec.Template.Metadata.Labels, Annotations: annotations,
		RestartPolicy: c.Spec.RestartPolicy, Rollout: c.Spec.Rollout, DeletionPolicy: c.Spec.DeletionPolicy,
		Group: in.Group, MoveVolumes: r.Spec.MoveVolumes, Adopt: r.Spec.Adopt,
		Rollback: c.Spec.Rollback, Progress: patience,
		GraceSeconds: *spec.TerminationGracePeriodSeconds, Spec: *spec, UUIDSaid: states,
		Source: fmt.Sprintf("%s:%d", c.At.File, c.At.Line),
	}
	secrets, bad, locked := findSecrets(in, o, spec)
	for _, p := range bad {
		problem(p.Field, p.Message)
	}
	if len(bad) > 0 {
		for n := range problems {
			problems[n].Locked = locked && len(bad) == len(problems)
		}
		return nil, problems
	}
	i.found = secrets
	for _, p := range in.Presets {
		i.Presets = append(i.Presets, p.Metadata.Name)
	}
	i.State = either(i.State, manifest.StateRunning)
	i.RestartPolicy = either(i.RestartPolicy, manifest.RestartAlways)
	i.Rollout = either(i.Rollout, manifest.RolloutStage)
	i.Rollback = either(i.Rollback, manifest.RollbackNever)
	i.DeletionPolicy = either(i.DeletionPolicy, manifest.DeletionRetain)
	domain, bad := i.build(in, o, own, own != nil && said == nil)
	for _, p := range bad {
		problem(p.Field, p.Message)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	i.UUID = domain.Child("uuid").Text
	i.Domain = domain
	i.Digest = digest(i)
	if bad := attach(in, o, i, tree, own); len(bad) > 0 {
		return nil, bad
	}
	return i, nil
}

// build makes the volumes of an instance from its spec, and its domain, with what is said in libvirt's own language over it.
func (i *Instance) build(in Input, o Options, own *domxml.Element, detailed bool) (*domxml.Element, []manifest.FieldProblem) {
	var problems []manifest.FieldProblem
	for n, v := range i.Spec.Volumes {
		volume, err := volumeOf(i, o, v)
		if err != nil {
			problems = append(problems, manifest.FieldProblem{Field: fmt.Sprintf("volumes[%d]", n), Message: err.Error()})
			continue
		}
		i.Volumes = append(i.Volumes, volume)
	}
	domain, bad := domainOf(i, in, o, detailed)
	if own != nil {
		domain = domxml.Merge(domain, own)
	}
	bad = append(bad, i.refer(domain, o)...)
	return domain, append(problems, bad...)
}

// ownXML reads what the spec says in libvirt's own language, and names the field that says it.
func ownXML(in Input, spec *manifest.InstanceSpec) (*domxml.Element, string, error) {
	text, field, from := spec.DomainXML, "domainXML", "domainXML"
	if spec.DomainXMLFrom != "" {
		field, from = "domainXMLFrom", spec.DomainXMLFrom
		raw, ok := in.Text(from)
		if !ok {
			return nil, field, fmt.Errorf("there is no file %s in the repository: say a path that is relative to the document's folder", from)
		}
		text = string(raw)
	}
	if strings.TrimSpace(text) == "" {
		return nil, field, nil
	}
	own, err := domxml.Parse(text)
	if err != nil {
		return nil, field, fmt.Errorf("%s is no XML: %w", from, err)
	}
	if own.Name != "domain" {
		return nil, field, fmt.Errorf("the root element is <%s>: it has to be <domain>", own.Name)
	}
	if name := own.Child("name"); name != nil && name.Text != in.RunState.Metadata.Name {
		return nil, field, fmt.Errorf("<name>%s</name>: the domain's name is the RunState's, %s: leave <name> out", name.Text, in.RunState.Metadata.Name)
	}
	if own.Child("metadata/gitvirt:domain") != nil {
		return nil, field, errors.New("<gitvirt:domain> in <metadata> is gitvirt's own record: leave it out")
	}
	return own, field, nil
}

// digest is of everything that makes the machine what it is; the commit does not.
func digest(i *Instance) string {
	h := sha256.New()
	h.Write([]byte(i.Domain.String()))
	fmt.Fprintf(h, "\n%s %s %s %d\n", i.Config, i.Flavour, i.DeletionPolicy, i.GraceSeconds)
	for _, v := range i.Volumes {
		fmt.Fprintf(h, "%s %s %s %s %q %d %s %q %s\n", v.Name, v.Kind, v.Pool, v.File, v.Path, v.Size, v.Format, v.Backing, v.BackingFormat)
		if v.Fetch != nil {
			fmt.Fprintf(h, "%q %q\n", v.Fetch.Image, v.Fetch.Path)
		}
	}
	for _, s := range i.Secrets {
		fmt.Fprintf(h, "secret %s %s %s\n", s.Name, s.Kind, s.Token)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

func either[T ~string](v, otherwise T) T {
	if v == "" {
		return otherwise
	}
	return v
}

func uidOf(s string) types.UID { return types.UID(s) }
