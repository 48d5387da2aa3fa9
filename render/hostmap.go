package render

import (
	"fmt"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// onHost puts what a host has in place of what only a cluster knows: pod and multus networks, claims and data volumes.
// The problems' fields are relative to the spec.
func onHost(in Input, spec *manifest.InstanceSpec) []manifest.FieldProblem {
	var problems []manifest.FieldProblem
	fail := func(field, format string, args ...any) {
		problems = append(problems, manifest.FieldProblem{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	h := in.hostSpec()
	for i := range spec.Networks {
		n := &spec.Networks[i]
		switch {
		case n.Pod != nil:
			n.NetworkSource = manifest.NetworkSource{Libvirt: &manifest.LibvirtNetwork{Network: "default"}}
			if h.PodNetwork != nil {
				n.NetworkSource = *h.PodNetwork
			}
		case n.Multus != nil:
			source, ok := h.Networks[n.Multus.NetworkName]
			if !ok {
				fail(fmt.Sprintf("networks[%d].multus.networkName", i), "%s: add it to spec.networks of the Host", in.unsaid("the network", n.Multus.NetworkName))
				continue
			}
			n.NetworkSource = source
		}
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		field, claim, ephemeral := "", "", false
		switch {
		case v.PersistentVolumeClaim != nil:
			field, claim = "persistentVolumeClaim.claimName", v.PersistentVolumeClaim.ClaimName
		case v.DataVolume != nil:
			field, claim = "dataVolume.name", v.DataVolume.Name
		case v.Ephemeral != nil && v.Ephemeral.PersistentVolumeClaim != nil:
			field, claim, ephemeral = "ephemeral.persistentVolumeClaim.claimName", v.Ephemeral.PersistentVolumeClaim.ClaimName, true
		default:
			continue
		}
		source, why := in.claim(claim)
		if why == "" && ephemeral {
			source, why = layered(source)
		}
		if why != "" {
			fail(fmt.Sprintf("volumes[%d].%s", i, field), "%s", why)
			continue
		}
		v.VolumeSource = source
	}
	return problems
}

func (in Input) hostSpec() manifest.HostSpec {
	if in.Host == nil {
		return manifest.HostSpec{}
	}
	return in.Host.Spec
}

// unsaid says that the host's document does not say what a name of a cluster's means.
func (in Input) unsaid(what, name string) string {
	switch host := in.RunState.Spec.Host; {
	case host == "":
		return fmt.Sprintf("the machine is on no host that could say what %s %q is", what, name)
	case in.Host == nil:
		return fmt.Sprintf("there is no Host document %s that says what %s %q is", host, what, name)
	}
	return fmt.Sprintf("the Host %s (%s:%d) does not say what %s %q is", in.Host.Metadata.Name, in.Host.At.File, in.Host.At.Line, what, name)
}

// claim is what a claim's name stands for on the host; why says why that cannot be told.
func (in Input) claim(name string) (source manifest.VolumeSource, why string) {
	h := in.hostSpec()
	if source, ok := h.Claims[name]; ok {
		return own(source), ""
	}
	var c *manifest.Claim
	for i := range in.Config.Spec.Cluster.Claims {
		if own := &in.Config.Spec.Cluster.Claims[i]; own.Name == name {
			c = own
		}
	}
	if c == nil {
		c = in.Claims[name]
	}
	switch {
	case c == nil:
		return source, in.unsaid("the claim", name) + ": add it to spec.claims of the Host"
	case c.Cannot != "":
		return source, fmt.Sprintf("the claim %q cannot be made: %s; add it to spec.claims of the Host", name, c.Cannot)
	case c.Size.IsZero() && c.Image == "":
		return source, fmt.Sprintf("the claim %q says no size (requests.storage)", name)
	}
	class, ok := h.StorageClasses[c.Class]
	if !ok && c.Class != "" {
		return source, in.unsaid("the claim "+name+"'s storage class", c.Class) + ": add it to spec.storageClasses of the Host"
	}
	volume := &manifest.StorageVolume{Pool: class.Pool, Format: class.Format}
	if !c.Size.IsZero() {
		size := c.Size
		volume.Size = &size
	}
	if c.Image != "" {
		volume.Image, volume.Format = &manifest.Image{Container: c.Image}, ""
	}
	return manifest.VolumeSource{Volume: volume}, ""
}

// own is a copy, which can be completed without changing the Host's document.
func own(s manifest.VolumeSource) manifest.VolumeSource {
	if s.Volume != nil {
		v := *s.Volume
		if v.Image != nil {
			image := *v.Image
			v.Image = &image
		}
		s.Volume = &v
	}
	if s.EmptyDisk != nil {
		e := *s.EmptyDisk
		if e.Image != nil {
			image := *e.Image
			e.Image = &image
		}
		s.EmptyDisk = &e
	}
	return s
}

// layered is a disk that begins as what the source has at every run.
func layered(source manifest.VolumeSource) (manifest.VolumeSource, string) {
	switch {
	case source.HostDisk != nil:
		return manifest.VolumeSource{EmptyDisk: &manifest.EmptyDisk{Image: &manifest.Image{Path: source.HostDisk.Path, Format: "raw"}}}, ""
	case source.Volume != nil && source.Volume.Image != nil:
		return manifest.VolumeSource{EmptyDisk: &manifest.EmptyDisk{Image: source.Volume.Image}}, ""
	case source.ContainerDisk != nil:
		return source, ""
	}
	return source, "an ephemeral volume has to begin as a hostDisk, an image or a containerDisk: say one in spec.claims of the Host"
}
