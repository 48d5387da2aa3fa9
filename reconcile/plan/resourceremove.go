package plan

import (
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/resource"
)

// resourceRemovals are those of ours that the revision does not want on this host. They go when nothing uses them, and under
// a budget of their own: as many as instances may, of networks and pools together.
func resourceRemovals(w ResourcesWanted, there []Resource, wanted map[string]bool, world World) []ResourceAssessment {
	var gone []ResourceAssessment
	ours, counted := 0, 0
	for i := range there {
		o := &there[i]
		if !w.ours(o) {
			continue
		}
		ours++
		if wanted[o.Key()] {
			continue
		}
		a := ResourceAssessment{Kind: o.Kind, Name: o.Name, Observed: o, Ours: true}
		using := users(o.Kind, o.Name, o, world, false)
		switch {
		case w.Incomplete:
			a.block("IncompleteRevision", "nothing is removed while the revision has documents that cannot be read")
		case o.Stuck:
			a.block("Stuck", "libvirt gives no answer about it")
		case len(using) > 0:
			a.block("InUse", "its document is gone, and it stays while machines use it: "+list(using))
		case !w.LetGo[o.Key()]:
			counted++
		}
		gone = append(gone, a)
	}
	over := overBudget(w.Budget, w.Allowed, counted, ours, "networks and storage pools")
	for i := range gone {
		a := &gone[i]
		if len(a.Blocked) > 0 {
			continue
		}
		if over != nil && !w.LetGo[a.Key()] {
			a.block(over.Reason, over.Message)
			continue
		}
		var steps []Step
		if a.Observed.Active {
			steps = append(steps, Step{Op: OpResourceStop})
		}
		message := "its document is gone"
		if a.Kind == resource.Pool {
			message += "; its volumes stay where they are"
		}
		a.act(EffectRemove, "NotWanted", message, nil, append(steps, Step{Op: OpResourceUndefine})...)
	}
	return gone
}

// users are the domains that use a resource, ours and others': by its name, or by files below a pool's folder. running
// leaves out those that are only defined.
func users(kind resource.Kind, name string, o *Resource, world World, running bool) []string {
	attr, folder := "network", ""
	if kind == resource.Pool {
		attr = "pool"
		for _, text := range []string{o.Live, o.Inactive} {
			if e, err := parsed(text); err == nil && e != nil && folder == "" {
				if p := e.Child("target/path"); p != nil {
					folder = strings.TrimRight(p.Text, "/") + "/"
				}
			}
		}
	}
	uses := func(text string) bool {
		return names(text, attr, name) || folder != "" && !strings.HasPrefix(folder, "/dev/") && strings.Contains(text, "='"+escaped(folder))
	}
	var all []string
	for i := range world.Domains {
		d := &world.Domains[i]
		switch m := d.Meta(); {
		case running && !d.Active():
		case d.Active() && uses(d.Live.Text()), !running && uses(d.Inactive.Text()):
			all = append(all, d.Name)
		case kind == resource.Pool && m != nil && slices.ContainsFunc(recorded(m, func(bool) bool { return true }), in(name)):
			all = append(all, d.Name)
		}
	}
	return all
}

// names says whether a domain's XML says an attribute with that value, as libvirt writes it.
func names(text, attr, value string) bool {
	return strings.Contains(text, " "+attr+"='"+escaped(value)+"'")
}

// escaped is a value as libvirt writes it into XML.
func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&apos;", `"`, "&quot;").Replace(s)
}
