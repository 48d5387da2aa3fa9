package preference

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	v1beta1 "kubevirt.io/api/instancetype/v1beta1"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// Instancetype is what an instancetype says, as a part of a template's spec. What the machine says itself it must say
// alike: the problems name its fields. vCPUs become sockets, cores and threads as the preference wants them, which may be
// nil.
func Instancetype(tree manifest.Tree, t *v1beta1.VirtualMachineInstancetypeSpec, p *manifest.PreferenceSpec) (manifest.Tree, []manifest.FieldProblem) {
	c := contradicted{tree: tree}
	cpu := map[string]any{}
	if said := VCPUs(tree); said > 0 {
		if said != uint64(t.CPU.Guest) {
			c.add("domain.cpu", fmt.Sprintf("%d vCPUs", said), fmt.Sprintf("%d", t.CPU.Guest))
		}
	} else if err := spread(cpu, t.CPU.Guest, p); err != nil {
		c.problems = append(c.problems, manifest.FieldProblem{Field: "domain.cpu", Message: err.Error()})
	}
	for _, resources := range []string{"requests", "limits"} {
		for name, want := range map[string]string{"cpu": fmt.Sprint(t.CPU.Guest), "memory": t.Memory.Guest.String()} {
			c.check("domain.resources."+resources+"."+name, want)
		}
	}
	memory := map[string]any{"guest": t.Memory.Guest.String()}
	domain := map[string]any{"cpu": cpu, "memory": memory}
	put(cpu, "model", t.CPU.Model)
	put(cpu, "dedicatedCpuPlacement", t.CPU.DedicatedCPUPlacement)
	put(cpu, "isolateEmulatorThread", t.CPU.IsolateEmulatorThread)
	put(cpu, "numa", t.CPU.NUMA)
	put(cpu, "realtime", t.CPU.Realtime)
	put(cpu, "maxSockets", t.CPU.MaxSockets)
	put(memory, "hugepages", t.Memory.Hugepages)
	put(memory, "maxGuest", t.Memory.MaxGuest)
	put(domain, "ioThreadsPolicy", t.IOThreadsPolicy)
	put(domain, "launchSecurity", t.LaunchSecurity)
	devices := map[string]any{}
	if len(t.GPUs) > 0 {
		put(devices, "gpus", t.GPUs)
	}
	if len(t.HostDevices) > 0 {
		put(devices, "hostDevices", t.HostDevices)
	}
	for _, object := range []struct {
		at     string
		fields map[string]any
	}{{"domain.cpu", cpu}, {"domain.memory", memory}, {"domain.devices", devices}} {
		for name, value := range object.fields {
			if object.at != "domain.cpu" || name != "sockets" && name != "cores" && name != "threads" {
				c.check(object.at+"."+name, value)
			}
		}
	}
	for _, name := range []string{"ioThreadsPolicy", "launchSecurity"} {
		if value, ok := domain[name]; ok {
			c.check("domain."+name, value)
		}
	}
	if len(devices) > 0 {
		domain["devices"] = devices
	}
	return manifest.Tree{"domain": domain}, c.sorted()
}

// contradicted collects what a machine says otherwise than its instancetype.
type contradicted struct {
	tree     manifest.Tree
	problems []manifest.FieldProblem
}

func (c *contradicted) add(field, said, want string) {
	c.problems = append(c.problems, manifest.FieldProblem{Field: field, Message: fmt.Sprintf(
		"the machine says %s, and its instancetype says %s: take it out of the machine", said, want)})
}

// check compares a field of the machine's with what its instancetype says.
func (c *contradicted) check(field string, want any) {
	said, ok := at(c.tree, field)
	if ok && !same(said, want) {
		c.add(field, brief(said), brief(want))
	}
}

func (c *contradicted) sorted() []manifest.FieldProblem {
	sortProblems(c.problems)
	return c.problems
}

// at follows a path of keys through a tree.
func at(tree manifest.Tree, path string) (any, bool) {
	var value any = map[string]any(tree)
	for key := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[key]; !ok {
			return nil, false
		}
	}
	return value, true
}

func object(tree manifest.Tree, path string) map[string]any {
	value, _ := at(tree, path)
	m, _ := value.(map[string]any)
	return m
}

// same says whether two values mean the same: 1024Mi is 1Gi.
func same(a, b any) bool {
	ja, errA := json.Marshal(a)
	jb, errB := json.Marshal(b)
	if errA == nil && errB == nil && string(ja) == string(jb) {
		return true
	}
	qa, errA := resource.ParseQuantity(fmt.Sprint(a))
	qb, errB := resource.ParseQuantity(fmt.Sprint(b))
	return errA == nil && errB == nil && qa.Cmp(qb) == 0
}

func brief(v any) string {
	switch v.(type) {
	case map[string]any, []any:
		if text, err := json.Marshal(v); err == nil && len(text) < 80 {
			return string(text)
		}
		return "something else"
	}
	return fmt.Sprint(v)
}

// put sets a key to what a typed value is in JSON, if it is said.
func put[T any](to map[string]any, key string, value T) {
	text, err := json.Marshal(value)
	if err != nil || string(text) == "null" {
		return // KubeVirt's types can all be written
	}
	var tree any
	if json.Unmarshal(text, &tree) == nil {
		to[key] = tree
	}
}
