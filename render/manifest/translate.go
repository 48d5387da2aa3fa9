package manifest

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirt "kubevirt.io/api/core/v1"
)

// header makes the header of a document of ours that stands for a manifest.
func (h foreignHeader) header(kind, spec string) Header {
	return Header{APIVersion: APIVersion, Kind: kind, Metadata: h.Metadata.meta(),
		Written: Written{Kind: h.Kind, Spec: spec, KubeVirt: true}}
}

func (m *virtualMachine) documents() []any {
	c := &Config{Header: m.header(KindConfig, "spec.template.spec")}
	r := &RunState{Header: m.header(KindRunState, "spec.template.spec")}
	r.Spec.Placement, r.Spec.Host, r.Spec.State = m.Spec.fill(c)
	return []any{c, r}
}

// fill makes a config's spec of a machine's, and says where and whether it runs.
func (s *virtualMachineSpec) fill(c *Config) (p *Placement, host string, state PowerState) {
	state, c.Spec.RestartPolicy = s.strategy()
	paused := false
	c.Spec.Template.Metadata = s.Template.Metadata.meta()
	c.Spec.Template.Spec, p, host, paused = s.Template.Spec.split()
	if paused && state == StateRunning {
		state = StatePaused
	}
	if i := s.Instancetype; i != nil {
		c.Spec.Cluster.Instancetype = &Reference{matched(i.Kind, KindInstancetype, KindClusterInstancetype), i.Name}
	}
	if p := s.Preference; p != nil {
		c.Spec.Cluster.Preference = &Reference{matched(p.Kind, KindPreference, KindClusterPreference), p.Name}
	}
	for _, d := range s.DataVolumes {
		c.Spec.Cluster.Claims = append(c.Spec.Cluster.Claims, d.Spec.claim(d.Metadata.Name))
	}
	return p, host, state
}

// matched is the kind that a matcher names: in any case, singular or plural; the cluster-wide one when it names none.
func matched(kind, namespaced, clusterWide string) string {
	if strings.EqualFold(strings.TrimSuffix(kind, "s"), namespaced) {
		return namespaced
	}
	return clusterWide
}

// strategy is what a run strategy means: whether it runs, and what becomes of it when the guest goes down by itself.
func (s *virtualMachineSpec) strategy() (PowerState, RestartPolicy) {
	switch kubevirt.VirtualMachineRunStrategy(s.RunStrategy) {
	case kubevirt.RunStrategyAlways:
		return StateRunning, RestartAlways
	case kubevirt.RunStrategyRerunOnFailure:
		return StateRunning, RestartOnFailure
	case kubevirt.RunStrategyOnce:
		return StateRunning, RestartNever
	case kubevirt.RunStrategyManual:
		return StateManual, RestartNever
	case kubevirt.RunStrategyHalted:
		return StateStopped, RestartAlways
	}
	if s.Running != nil && *s.Running {
		return StateRunning, RestartAlways
	}
	return StateStopped, RestartAlways
}

func (m *virtualMachineInstance) documents() []any {
	c := &Config{Header: m.header(KindConfig, "spec")}
	r := &RunState{Header: m.header(KindRunState, "spec")}
	c.Spec.RestartPolicy = RestartNever
	// The labels of an instance are those that presets look at.
	c.Spec.Template.Metadata = Meta{Labels: m.Metadata.Labels, Annotations: m.Metadata.Annotations}
	paused := false
	c.Spec.Template.Spec, r.Spec.Placement, r.Spec.Host, paused = m.Spec.split()
	r.Spec.State = StateRunning
	if paused {
		r.Spec.State = StatePaused
	}
	return []any{c, r}
}

func (m *replicaSet) documents() []any {
	c := &Config{Header: m.header(KindConfig, "spec.template.spec")}
	g := &Group{Header: m.header(KindGroup, "spec.template.spec")}
	var at *Placement
	var host string
	c.Spec.RestartPolicy = RestartAlways // what is gone is replaced
	c.Spec.Template.Metadata = m.Spec.Template.Metadata.meta()
	c.Spec.Template.Spec, at, host, _ = m.Spec.Template.Spec.split()
	g.Spec.Replicas = m.Spec.Replicas
	g.place(at, host)
	return []any{c, g}
}

func (m *pool) documents() []any {
	const spec = "spec.virtualMachineTemplate.spec.template.spec"
	c := &Config{Header: m.header(KindConfig, spec)}
	g := &Group{Header: m.header(KindGroup, spec)}
	at, host, state := m.Spec.Template.Spec.fill(c)
	g.Spec.Replicas, g.Spec.State = m.Spec.Replicas, state
	if n := m.Spec.MaxUnavailable; n != nil && n.Type == intstr.Int {
		g.Spec.MaxUnavailable = &n.IntVal
	}
	g.place(at, host)
	return []any{c, g}
}

func (g *Group) place(at *Placement, host string) {
	if host != "" {
		g.Spec.Hosts = []string{host}
	} else if at != nil {
		g.Spec.HostSelector = at.HostSelector
	}
}

func (m *kubevirtPreset) documents() []any {
	p := &Preset{Header: m.header(KindPreset, "spec")}
	p.Spec = m.Spec
	return []any{p}
}

func (m *Instancetype) documents() []any { return []any{m} }
func (m *Preference) documents() []any   { return []any{m} }

func (m *persistentVolumeClaim) documents() []any {
	c := m.Spec.claim(m.Metadata.Name)
	return []any{&c}
}

func (m *dataVolume) documents() []any {
	c := m.Spec.claim(m.Metadata.Name)
	return []any{&c}
}

// hostnameLabel is the label by which a manifest names a node.
const hostnameLabel = "kubernetes.io/hostname"

// split takes out of a template what says where and how it starts: the node that a selector names or the labels that it
// has to have, and whether it starts paused.
func (t foreignTree) split() (said Partial, p *Placement, host string, paused bool) {
	spec := maps.Clone(Tree(t))
	if spec == nil {
		spec = Tree{}
	}
	labels := map[string]string{}
	if selector, ok := spec["nodeSelector"].(map[string]any); ok {
		for label, value := range selector {
			labels[label], _ = value.(string)
		}
	}
	host = labels[hostnameLabel]
	if host == "" && len(labels) > 0 {
		p = &Placement{HostSelector: &metav1.LabelSelector{MatchLabels: labels}}
	}
	paused = spec["startStrategy"] == string(kubevirt.StartStrategyPaused)
	delete(spec, "nodeSelector")
	delete(spec, "startStrategy")
	return PartialOf(spec), p, host, paused
}
