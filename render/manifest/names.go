package manifest

import (
	"k8s.io/apimachinery/pkg/util/validation"
)

// checker collects the problems of one document's values.
type checker struct {
	problems []FieldProblem
	warnings []FieldProblem // what is said and has no effect
}

func (c *checker) warn(field, message string) {
	c.warnings = append(c.warnings, FieldProblem{field, message})
}

func (c *checker) add(field, message string) {
	c.problems = append(c.problems, FieldProblem{field, message})
}

// label checks a name that is a DNS label (RFC 1123).
func (c *checker) label(field, name string) bool {
	switch {
	case name == "":
		c.add(field, "is missing; say a name")
	case len(validation.IsDNS1123Label(name)) > 0:
		c.add(field, quoted(name)+" is not a name: use lower-case letters, digits and \"-\", at most 63, "+
			"with a letter or a digit first and last")
	default:
		return true
	}
	return false
}

// hostName checks the name that an agent goes by.
func (c *checker) hostName(field, name string) {
	switch {
	case name == "":
		c.add(field, "is missing; say the name that the host's agent goes by")
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		c.add(field, quoted(name)+" is not a host name: use lower-case letters, digits, \"-\" and \".\", at most 253")
	}
}

// maxAnnotations is Kubernetes' bound on all annotations of a document together, in bytes.
const maxAnnotations = 256 << 10

// meta checks metadata at path; only that of a document itself has a name.
func (c *checker) meta(path string, m Meta, named bool) {
	if named {
		c.label(joinField(path, "name"), m.Name)
	} else if m.Name != "" {
		c.add(joinField(path, "name"), "cannot be said: instances are named by their RunState")
	}
	for key, value := range m.Labels {
		at := joinField(path, fieldPath{{key: "labels"}, {key: key}}.String())
		if len(validation.IsQualifiedName(key)) > 0 {
			c.add(at, quoted(key)+" is not a label's key: write NAME or DOMAIN/NAME, each of at most 63 letters, digits, "+
				"\"-\", \"_\" and \".\"")
		}
		if len(validation.IsValidLabelValue(value)) > 0 {
			c.add(at, quoted(value)+" is not a label's value: use at most 63 letters, digits, \"-\", \"_\" and \".\", "+
				"with a letter or a digit first and last")
		}
	}
	size := 0
	for key, value := range m.Annotations {
		size += len(key) + len(value)
		if len(validation.IsQualifiedName(key)) > 0 {
			c.add(joinField(path, fieldPath{{key: "annotations"}, {key: key}}.String()), quoted(key)+
				" is not an annotation's key: write NAME or DOMAIN/NAME")
		}
	}
	if size > maxAnnotations {
		c.add(joinField(path, "annotations"), "are more than 256 KiB together; say less")
	}
}
