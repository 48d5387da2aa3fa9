package manifest

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// header is what a document says that it is, and what is wrong with that.
type header struct {
	// kind is one that is read; name is one that a document of it can have. They are zero where that is not so.
	kind     *kind
	name     string
	findings []finding
	foreign  bool   // nothing says that the document is meant for gitvirt
	cluster  string // the kind of a foreign document that is an object of a Kubernetes cluster
	written  string // the kind of one that only a cluster with KubeVirt can have
}

func (h *header) report(n *yaml.Node, field, message string) {
	h.findings = append(h.findings, finding{FieldProblem: FieldProblem{field, message}, line: n.Line, column: n.Column})
}

// readHeader tells a document's kind.
func readHeader(root *yaml.Node) header {
	var h header
	if root.Kind != yaml.MappingNode {
		h.foreign = true
		h.report(root, "", "expected a mapping with apiVersion and kind, found "+describe(root))
		return h
	}
	f := finder{left: maxExpanded}
	api, apiAt := word(&f, root, "apiVersion")
	name, kindAt := word(&f, root, "kind")
	h.find(root, api, name, apiAt, kindAt)
	if _, meta := f.child(root, "metadata"); meta != nil {
		of := h.kind
		if of == nil {
			of = new(kind)
		}
		if s, _ := word(&f, meta, "name"); of.named(s) {
			h.name = s
		}
	}
	return h
}

// find finds the kind that a document is of, or may be meant to be of.
func (h *header) find(root *yaml.Node, api, name string, apiAt, kindAt *yaml.Node) {
	group, version, _ := strings.Cut(api, "/")
	var same *kind // of that group and name, or of ours and that name
	for _, k := range theSchemas().kinds {
		switch {
		case k.name != name:
		case k.speaks(api):
			h.kind = k
			return
		case k.group == group && same == nil, k.group == groupOurs:
			same = k
		}
	}
	old := theSchemas().form2017
	switch {
	case api == APIVersion && name != "List":
		h.kindFault(root, kindAt, name)
	case api == "" && apiAt == root && name == old.name:
		// The form of 2017 was often written without one.
		h.kind = old
	case same != nil && same.group == groupOurs && api == "" && apiAt != root && !unsaid(apiAt):
		h.kind = same // the walk says that it is no string
	case same != nil && same.group == groupOurs && api == "":
		h.kind = same
		h.report(apiAt, "apiVersion", "is missing; write apiVersion: "+APIVersion)
	case same != nil && same.group == groupOurs:
		h.kind = same
		h.report(apiAt, "apiVersion", quoted(api)+" is not known; write apiVersion: "+APIVersion)
	case same != nil:
		h.kind = same
		h.report(apiAt, "apiVersion", fmt.Sprintf("the version %s is not supported; write %s/%s", quoted(version), group, same.versions[0]))
	case name == "List" || strings.HasSuffix(name, "List") && (group == groupOurs || strings.HasSuffix(group, groupKubeVirt)):
		h.written = name
		h.report(kindAt, "kind", "a list is not read; write its items as documents of their own, divided by lines of \"---\"")
	case nearly(api):
		h.report(apiAt, "apiVersion", quoted(api)+" is not known; write apiVersion: "+APIVersion)
		h.kindFault(root, kindAt, name)
	case group == groupKubeVirt || strings.HasSuffix(group, "."+groupKubeVirt) && group != groupImporter:
		h.written = name
		h.report(kindAt, "kind", quoted(name)+" is something that only a cluster with KubeVirt has; take it out, or name its file in .gitvirtignore")
	case api == "" && name != "" && suggest(name, ownKinds()) != "":
		h.kindFault(root, kindAt, name)
	case api == "v1" && name == "Secret" && holdsSecrets(root):
		h.written = name
		h.report(kindAt, "", "is a Secret in plain text, which whoever can read the repository knows: change what is in it, encrypt the file "+
			"(age -R RECIPIENTS -o NAME.age FILE), and commit NAME.age in its place")
	default:
		h.foreign = true
		if api != "" {
			h.cluster = name
		}
		h.report(root, "", "this document is none of "+APIVersion+"; if its file is not for gitvirt, name it in .gitvirtignore")
	}
}

// kindFault reports a kind that cannot be read.
func (h *header) kindFault(root, at *yaml.Node, kind string) {
	switch {
	case kind == "" && at != root && !isEmpty(at):
		h.report(at, "kind", "expected a string, found "+describe(at))
	case kind == "":
		h.report(at, "kind", "is missing; say one of "+strings.Join(ownKinds(), ", "))
	case kind == KindInstance:
		h.report(at, "kind", KindInstance+" is made by agents and never read from a repository; write a "+KindConfig+
			", and a "+KindRunState+" that runs it")
	default:
		h.report(at, "kind", quoted(kind)+" is not known"+didYouMean(kind, ownKinds()))
	}
}

// nearly says whether an apiVersion is probably a misspelling of ours.
func nearly(api string) bool {
	return strings.HasPrefix(strings.ToLower(api), "gitvirt") || suggest(api, []string{APIVersion}) != ""
}

// word finds a string in a mapping, and the node to speak of.
func word(f *finder, n *yaml.Node, key string) (string, *yaml.Node) {
	_, v := f.child(n, key)
	if v == nil {
		return "", n
	}
	at := v
	if v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if v.Kind != yaml.ScalarNode {
		return "", at
	}
	s, _ := scalar(v).(string)
	return s, at
}

// unsaid says whether a node is null or "", which a walk takes for nothing said.
func unsaid(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return isEmpty(n) || scalar(n) == ""
}

// holdsSecrets says whether a Secret manifest has values that nothing has encrypted.
func holdsSecrets(root *yaml.Node) bool {
	f := finder{left: maxExpanded}
	if _, sops := f.child(root, "sops"); sops != nil {
		return false
	}
	for _, key := range []string{"data", "stringData"} {
		if _, v := f.child(root, key); v != nil && len(v.Content) > 0 {
			return true
		}
	}
	return false
}
