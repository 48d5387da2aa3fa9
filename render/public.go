package render

import (
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Public is the instance's spec with digests in place of its secrets: cloud-init data, and the passwords in domainXML.
func (i *Instance) Public() manifest.InstanceSpec {
	spec := manifest.Public(i.Spec)
	if spec.DomainXML != "" {
		// It was parsed when the instance was completed; what cannot be parsed is not shown.
		spec.DomainXML = ""
		if own, err := domxml.Parse(i.Spec.DomainXML); err == nil {
			spec.DomainXML = domxml.Redact(own).String()
		}
	}
	return spec
}
