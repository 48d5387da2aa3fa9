package manifest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// header is what a document says that it is, and what is wrong with that.
type header struct {
	// kind is one of ours; name is one that a document can have. They are empty where that is not so.
	kind, name string
	findings   []finding
	foreign    bool // nothing says that the document is meant for gitvirt
}

func (h *header) report(n *yaml.Node, field, message string) {
	h.findings = append(h.findings, finding{FieldProblem{field, message}, n.Line, n.Column})
}

func kinds() []string { return []string{KindConfig, KindRunState, KindFlavour} }

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
	kind, kindAt := word(&f, root, "kind")
	h.name = name(&f, root)
	if slices.Contains(kinds(), kind) {
		h.kind = kind
	}
	switch {
	case api == APIVersion:
		if h.kind == "" {
			h.kindFault(root, kindAt, kind)
		}
	case h.kind != "" && api == "" && apiAt != root:
		// The walk says that it is no string.
	case h.kind != "" && api == "":
		h.report(apiAt, "apiVersion", "is missing; write apiVersion: "+APIVersion)
	case h.kind != "" || nearly(api):
		h.report(apiAt, "apiVersion", quoted(api)+" is not known; write apiVersion: "+APIVersion)
		if h.kind == "" {
			h.kindFault(root, kindAt, kind)
		}
	case strings.HasPrefix(api, "kubevirt.io/"):
		h.report(apiAt, "apiVersion", "KubeVirt's own kinds are not supported yet; write a "+KindConfig+" of "+APIVersion)
	case api == "" && kind != "" && suggest(kind, kinds()) != "":
		h.kindFault(root, kindAt, kind)
	default:
		h.foreign = true
		h.report(root, "", "this document is none of "+APIVersion+"; if its file is not for gitvirt, name it in .gitvirtignore")
	}
	return h
}

// kindFault reports a kind that cannot be read.
func (h *header) kindFault(root, at *yaml.Node, kind string) {
	switch {
	case kind == "" && at != root && !isEmpty(at):
		h.report(at, "kind", "expected a string, found "+describe(at))
	case kind == "":
		h.report(at, "kind", "is missing; say one of "+strings.Join(kinds(), ", "))
	case kind == KindInstance:
		h.report(at, "kind", KindInstance+" is made by agents and never read from a repository; write a "+KindConfig+
			", and a "+KindRunState+" that runs it")
	case slices.Contains(laterKinds(), kind):
		h.report(at, "kind", kind+" is not supported yet")
	default:
		h.report(at, "kind", quoted(kind)+" is not known"+didYouMean(kind, kinds()))
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

// name is the document's name, if it can be one.
func name(f *finder, root *yaml.Node) string {
	_, meta := f.child(root, "metadata")
	if meta == nil {
		return ""
	}
	s, _ := word(f, meta, "name")
	if len(validation.IsDNS1123Label(s)) > 0 {
		return ""
	}
	return s
}
