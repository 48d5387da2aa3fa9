package manifest

// specChecker checks a template's spec.
type specChecker struct {
	checker
	partial bool // another document may supply what is missing
}

func (c *specChecker) check(spec *InstanceSpec) {
	c.domain(&spec.Domain)
	c.devices(&spec.Domain.Devices)
	c.networks(spec.Networks)
	c.volumes(spec.Volumes)
	c.secrets(spec.Secrets)
	c.probe("readinessProbe", spec.ReadinessProbe)
}
