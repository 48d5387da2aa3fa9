package reconcile

import (
	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/render/manifest"
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

// resourceRefusals are what a policy says of a view's networks and storage pools, as problems of their documents.
func (v View) resourceRefusals(p policy.Policy) []manifest.Problem {
	var all []manifest.Problem
	seen := map[*manifest.Header]bool{}
	for _, r := range v.Resources.List {
		if why := policy.CheckResource(p, r, policy.Lexical{}); why != "" && !seen[r.Header] {
			seen[r.Header] = true
			all = append(all, r.Header.Problem("spec", why))
		}
	}
	return all
}
