package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// machine checks a machine's spec beside its template.
func (c *checker) machine(at string, s *virtualMachineSpec) {
	strategies := []string{"Always", "RerunOnFailure", "Manual", "Halted", "Once"}
	switch {
	case s.RunStrategy != "" && s.Running != nil:
		c.add(joinField(at, "running"), "cannot be said together with runStrategy; take one out")
	case s.RunStrategy != "" && !slices.Contains(strategies, s.RunStrategy):
		c.add(joinField(at, "runStrategy"), fmt.Sprintf("%s is not supported; say one of %s", quoted(s.RunStrategy), strings.Join(strategies, ", ")))
	}
	if i := s.Instancetype; i != nil {
		c.matcher(joinField(at, "instancetype"), i.Name, i.InferFromVolume)
	}
	if p := s.Preference; p != nil {
		c.matcher(joinField(at, "preference"), p.Name, p.InferFromVolume)
	}
}

func (c *checker) matcher(at, name, infer string) {
	if infer != "" {
		c.add(joinField(at, "inferFromVolume"), "is something that only a Kubernetes cluster has; say the name")
	} else if name == "" {
		c.add(joinField(at, "name"), "is missing; say a name")
	}
}

func (m *virtualMachine) check(c *checker) {
	c.foreignMeta("metadata", m.Metadata)
	c.machine("spec", &m.Spec)
	c.instance("spec.template.metadata", m.Spec.Template.Metadata)
	c.foreignSpec("spec.template.spec", m.Spec.Template.Spec)
}

func (m *virtualMachineInstance) check(c *checker) {
	c.foreignMeta("metadata", m.Metadata)
	c.instance("metadata", m.Metadata)
	c.foreignSpec("spec", m.Spec)
}

func (m *replicaSet) check(c *checker) {
	c.foreignMeta("metadata", m.Metadata)
	c.replicas("spec.replicas", m.Spec.Replicas)
	c.instance("spec.template.metadata", m.Spec.Template.Metadata)
	c.foreignSpec("spec.template.spec", m.Spec.Template.Spec)
}

func (m *pool) check(c *checker) {
	c.foreignMeta("metadata", m.Metadata)
	c.replicas("spec.replicas", m.Spec.Replicas)
	c.machine("spec.virtualMachineTemplate.spec", &m.Spec.Template.Spec)
	c.instance("spec.virtualMachineTemplate.spec.template.metadata", m.Spec.Template.Spec.Template.Metadata)
	c.foreignSpec("spec.virtualMachineTemplate.spec.template.spec", m.Spec.Template.Spec.Template.Spec)
}

func (m *kubevirtPreset) check(c *checker) {
	c.foreignMeta("metadata", m.Metadata)
	if m.Spec.Selector == nil {
		c.add("spec.selector", "is missing; say which machines it is for")
	} else {
		c.selector("spec.selector", m.Spec.Selector)
	}
	c.spec("spec", m.Spec.Template, true)
}

func (m *Instancetype) check(c *checker)          { c.foreignMeta("metadata", m.Metadata) }
func (m *Preference) check(c *checker)            { c.foreignMeta("metadata", m.Metadata) }
func (m *persistentVolumeClaim) check(c *checker) { c.foreignMeta("metadata", m.Metadata) }
func (m *dataVolume) check(c *checker)            { c.foreignMeta("metadata", m.Metadata) }

func (c *checker) foreignMeta(at string, m foreignMeta) {
	if m.Name == "" {
		c.add(joinField(at, "name"), "is missing; say a name")
	}
}

// hooks are annotations by which KubeVirt lets other programs change a domain.
const hooks = "hooks.kubevirt.io/hookSidecars"

// instance checks the metadata that an instance gets.
func (c *checker) instance(at string, m foreignMeta) {
	if _, ok := m.Annotations[hooks]; ok {
		c.warn(joinField(at, fieldPath{{key: "annotations"}, {key: hooks}}.String()),
			"has no effect: hook sidecars are not run; say in domainXML what they would change")
	}
}

func (c *checker) foreignSpec(at string, t foreignTree) {
	said, _, _, _ := t.split()
	// Presets, an instancetype and a preference may supply what is missing.
	c.spec(at, said.Tree(), true)
}
