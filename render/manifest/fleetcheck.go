package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func (p *Preset) check(c *checker) {
	c.meta("metadata", p.Metadata, true)
	if p.Spec.Selector != nil {
		c.selector("spec.selector", p.Spec.Selector)
	}
	c.spec("spec", p.Spec.Template, true)
}

// maxReplicas keeps a slip of the finger from filling a host.
const maxReplicas = 10_000

func (c *checker) replicas(field string, n *int32) {
	if n != nil && (*n < 0 || *n > maxReplicas) {
		c.add(field, fmt.Sprintf("%d is not a number of machines: say 0 to %d", *n, maxReplicas))
	}
}

func (g *Group) check(c *checker) {
	c.meta("metadata", g.Metadata, true)
	if g.Spec.Config != "" {
		c.label("spec.config", g.Spec.Config)
	}
	c.replicas("spec.replicas", g.Spec.Replicas)
	c.commit("spec.revision", g.Spec.Revision)
	switch {
	case len(g.Spec.Hosts) > 0 && g.Spec.HostSelector != nil:
		c.add("spec.hostSelector", "cannot be said together with hosts; take one out")
	case len(g.Spec.Hosts) == 0 && g.Spec.HostSelector == nil:
		c.add("spec.hosts", "is missing; say the names of hosts, or a hostSelector")
	case g.Spec.HostSelector != nil:
		c.selector("spec.hostSelector", g.Spec.HostSelector)
	}
	first := map[string]int{}
	for i, h := range g.Spec.Hosts {
		at := "spec.hosts[" + strconv.Itoa(i) + "]"
		c.hostName(at, h)
		if j, ok := first[h]; ok {
			c.add(at, fmt.Sprintf("duplicate host %s; hosts[%d] is it too", quoted(h), j))
		}
		first[h] = i
	}
	if n := g.Spec.MaxUnavailable; n != nil && *n < 1 {
		c.add("spec.maxUnavailable", "must be 1 or more")
	}
	last := g.Metadata.Name + "-" + strconv.Itoa(max(g.Size()-1, 0))
	if len(validation.IsDNS1123Label(last)) > 0 && g.Metadata.Name != "" {
		c.add("metadata.name", "is too long: its members are named "+quoted(last)+", and 63 letters is the most")
	}
}

func (c *checker) selector(field string, s *metav1.LabelSelector) {
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		c.add(field, "is not a selector: "+printable(err.Error()))
	}
}

// usbForm is VENDOR:PRODUCT, as lsusb prints it.
var usbForm = regexp.MustCompile(`^[0-9a-fA-F]{4}:[0-9a-fA-F]{4}$`)

func (h *Host) check(c *checker) {
	meta := h.Metadata
	meta.Name = ""
	c.meta("metadata", meta, false)
	c.hostName("metadata.name", h.Metadata.Name)
	if s := h.Spec.Suspend; s != nil && s.Reason == "" {
		c.add("spec.suspend.reason", "is missing; say why the host is left alone: those who look at it will ask")
	}
	sc := &specChecker{}
	if n := h.Spec.PodNetwork; n != nil {
		sc.concreteNetwork("spec.podNetwork", *n)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Spec.Networks)) {
		sc.concreteNetwork(joinField("spec", fieldPath{{key: "networks"}, {key: name}}.String()), h.Spec.Networks[name])
	}
	for _, name := range slices.Sorted(maps.Keys(h.Spec.Claims)) {
		at := joinField("spec", fieldPath{{key: "claims"}, {key: name}}.String())
		v := h.Spec.Claims[name]
		if v.PersistentVolumeClaim != nil || v.DataVolume != nil || v.Ephemeral != nil {
			sc.add(at, "is a claim again; say what it is on this host")
		}
		sc.volumeSource(at, v)
	}
	if h.Spec.DedicatedCPUs != "" {
		if _, err := CPUList(h.Spec.DedicatedCPUs); err != nil {
			sc.add("spec.dedicatedCPUs", err.Error())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Spec.Devices)) {
		for i, d := range h.Spec.Devices[name] {
			sc.hostDevice(joinField("spec", fieldPath{{key: "devices"}, {key: name}, {index: i}}.String()), d)
		}
	}
	c.problems = append(c.problems, sc.problems...)
}

func (c *specChecker) concreteNetwork(at string, n NetworkSource) {
	if n.Pod != nil || n.Multus != nil {
		c.add(at, "is a cluster's network again; say what it is on this host")
	}
	c.networkSource(at, n)
}

func (c *checker) hostDevice(at string, d HostDevice) {
	var set []string
	if d.PCI != "" {
		set = append(set, "pci")
		c.pciAddress(at+".pci", d.PCI)
	}
	if d.USB != "" {
		set = append(set, "usb")
		if !usbForm.MatchString(d.USB) {
			c.add(at+".usb", quoted(d.USB)+" is not VENDOR:PRODUCT, such as 0951:1666")
		}
	}
	if d.MDev != "" {
		set = append(set, "mdev")
		if !uuidForm.MatchString(d.MDev) {
			c.add(at+".mdev", quoted(d.MDev)+" is not a UUID")
		}
	}
	c.oneOf(at, set, []string{"pci", "usb", "mdev"}, false)
	if d.Instance != "" {
		c.label(at+".instance", d.Instance)
	}
}
