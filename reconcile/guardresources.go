package reconcile

import (
	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/render/resource"
)

// judgeResources says which networks and storage pools the policy refuses, by kind and name, and why.
func (g *guard) judgeResources(list []resource.Resource) map[string]string {
	forbidden := map[string]string{}
	for _, r := range list {
		if why := policy.CheckResource(g.policy, r, g.files); why != "" {
			forbidden[plan.ResourceKey(r.Kind, r.Name)] = why
		}
	}
	return forbidden
}
