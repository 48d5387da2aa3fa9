package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/render/resource"
)

// Resource is one observed network or storage pool.
type Resource struct {
	Kind       resource.Kind
	Name, UUID string
	Active     bool
	Persistent bool
	Autostart  bool
	// Inactive and Live are its XML; empty for what is not there, and for one that was not looked at.
	Inactive, Live string
	// Ports are the UUIDs of an active network's ports: one for each interface that is connected to it. It is nil where that is
	// not known.
	Ports map[string]bool
	// Stuck says that libvirt gave no answer about it.
	Stuck bool
}

// ResourceKey is how a resource is named among those of both kinds: Network/lan.
func ResourceKey(kind resource.Kind, name string) string { return string(kind) + "/" + name }

// Key is how it is named among those of both kinds.
func (r Resource) Key() string { return ResourceKey(r.Kind, r.Name) }

// ResourcesWanted is what one revision wants of a host's networks and pools.
type ResourcesWanted struct {
	Fleet string
	List  []resource.Resource
	// Broken are those that cannot be rendered, or of which two are one, by key and with why: they are left as they are.
	Broken map[string]string
	// Forbidden are those that the host's policy refuses, by key.
	Forbidden map[string]string
	// Incomplete, Suspended, Budget and Allowed are as for instances. The budget is one of its own, for both kinds together.
	Incomplete      bool
	Suspended       *Suspension
	Budget, Allowed int
	// Own are the UUIDs, by key, of those that are ours though the UUID is not the derived one: they were adopted, or the
	// document says it.
	Own map[string]string
	// Kept are the tokens of the secrets that libvirt was last given, by key.
	Kept map[string]string
	// LetGo are removals that have begun.
	LetGo map[string]bool
	// NotBefore is when one that failed is tried again.
	NotBefore map[string]time.Time
	Now       time.Time
	// Uses is what earlier passes found out of domains' XML; it is added to. It may be nil.
	Uses UsesMemo

	// Known are the digests that were last seen to be in sync, by key: what differs then is somebody else's doing.
	Known map[string]string

	on Uses // the interfaces of running machines, by network
}

// ResourceAction is one thing to do to one network or storage pool.
type ResourceAction struct {
	Kind    resource.Kind `json:"kind"`
	Name    string        `json:"name"`
	Effect  Effect        `json:"effect"`
	Reason  string        `json:"reason"`
	Message string        `json:"message"`
	Changes []Change      `json:"changes,omitempty"`
	Steps   []Step        `json:"-"`
}

// ResourceAssessment is what a pass finds about one network or storage pool.
type ResourceAssessment struct {
	Kind resource.Kind
	Name string
	// Wanted is nil for one that is to be removed, Observed for one that is not there.
	Wanted   *resource.Resource
	Observed *Resource
	// Ours says that gitvirt made it, or took it over.
	Ours bool
	// InSync says that its definition is as the document says.
	InSync  bool
	Staged  []Staged
	Blocked []Block
	Notes   []Block
	Actions []ResourceAction
	Wake    time.Time
}

// Key is how it is named among those of both kinds.
func (a *ResourceAssessment) Key() string { return ResourceKey(a.Kind, a.Name) }

// Serves says whether machines can use it now.
func (a *ResourceAssessment) Serves() bool { return a.Observed != nil && a.Observed.Active }

// MakeResources compares the networks and pools that are wanted with those that are there. It is a pure function; what it
// returns is sorted by kind and name.
func MakeResources(w ResourcesWanted, there []Resource, world World) []ResourceAssessment {
	observed := make(map[string]*Resource, len(there))
	for i := range there {
		observed[there[i].Key()] = &there[i]
	}
	var all []ResourceAssessment
	if slices.ContainsFunc(w.List, func(r resource.Resource) bool { return r.Kind == resource.Network }) {
		w.on = connected(world, w.Uses)
	}
	wanted := map[string]bool{}
	for i := range w.List {
		r := &w.List[i]
		key := ResourceKey(r.Kind, r.Name)
		wanted[key] = true
		a := ResourceAssessment{Kind: r.Kind, Name: r.Name, Wanted: r, Observed: observed[key]}
		if why := w.Forbidden[key]; why != "" {
			a.block("Policy", why)
		} else {
			a.assess(w, world)
		}
		all = append(all, a)
	}
	for key, why := range w.Broken {
		if wanted[key] {
			continue
		}
		wanted[key] = true
		kind, name, _ := strings.Cut(key, "/")
		a := ResourceAssessment{Kind: resource.Kind(kind), Name: name, Observed: observed[key]}
		a.block("InvalidDocument", "it is left as it is, because its documents cannot be used: "+why)
		all = append(all, a)
	}
	all = append(all, resourceRemovals(w, there, wanted, world)...)
	slices.SortFunc(all, func(a, b ResourceAssessment) int { return cmp.Compare(a.Key(), b.Key()) })
	for i := range all {
		a := &all[i]
		if s := w.Suspended; s != nil && (s.Until.IsZero() || w.Now.Before(s.Until)) {
			a.suspend(*s)
		}
		if until := w.NotBefore[a.Key()]; until.After(w.Now) {
			for n := range a.Actions {
				a.Actions[n].Steps = nil
			}
			a.Wake = until
		}
	}
	return all
}

// ours says whether an observed resource was made by gitvirt, or taken over.
func (w ResourcesWanted) ours(o *Resource) bool {
	return o.UUID == resource.UUID(w.Fleet, o.Kind, o.Name) || o.UUID == w.Own[o.Key()]
}

// Interesting says whether a resource has to be looked at: it is wanted, or ours.
func (w ResourcesWanted) Interesting(o Resource) bool {
	return w.ours(&o) || slices.ContainsFunc(w.List, func(r resource.Resource) bool { return r.Kind == o.Kind && r.Name == o.Name })
}

func (a *ResourceAssessment) act(effect Effect, reason, message string, changes []Change, steps ...Step) {
	for i := range steps {
		steps[i].Domain, steps[i].Kind = a.Name, a.Kind
		switch {
		case a.Observed != nil:
			steps[i].UUID = a.Observed.UUID
		case a.Wanted != nil:
			steps[i].UUID = a.Wanted.UUID
		}
	}
	a.Actions = append(a.Actions, ResourceAction{Kind: a.Kind, Name: a.Name, Effect: effect, Reason: reason, Message: message, Changes: changes, Steps: steps})
}

func (a *ResourceAssessment) block(reason, message string, changes ...Change) {
	a.Blocked = append(a.Blocked, Block{reason, message})
	a.act(EffectBlocked, reason, message, changes)
}

func (a *ResourceAssessment) suspend(s Suspension) {
	message := "the Host document suspends this host: " + s.Reason
	for i := range a.Actions {
		if b := &a.Actions[i]; b.Effect != EffectBlocked {
			b.Message, b.Effect, b.Reason, b.Steps = message+" (it would "+string(b.Effect)+": "+b.Message+")", EffectBlocked, "Suspended", nil
			if !slices.ContainsFunc(a.Blocked, func(b Block) bool { return b.Reason == "Suspended" }) {
				a.Blocked = append(a.Blocked, Block{"Suspended", message})
			}
		}
	}
	if !s.Until.IsZero() {
		a.Wake = s.Until
	}
}
