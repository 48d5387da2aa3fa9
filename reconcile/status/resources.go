package status

import (
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/resource"
)

// Resource is a network or a storage pool as it is shown, in Kubernetes' form.
type Resource struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Metadata   ResourceMetadata `json:"metadata"`
	Status     ResourceStatus   `json:"status"`
}

// ResourceMetadata says what it is called: libvirt's name, and the document's where there is one.
type ResourceMetadata struct {
	Name     string `json:"name"`
	Document string `json:"document,omitempty"`
}

// ResourceStatus is how it stands.
type ResourceStatus struct {
	Host       string        `json:"host"`
	State      string        `json:"state"` // Missing, Inactive, Active or Unknown
	UUID       string        `json:"uuid,omitempty"`
	Autostart  bool          `json:"autostart"`
	Staged     []plan.Staged `json:"staged,omitempty"`
	Failure    *Failed       `json:"failure,omitempty"`
	Conditions []Condition   `json:"conditions"`
}

// resourcesOf reports the networks and pools of a pass.
func resourcesOf(before *Snapshot, f *Facts) []Resource {
	list := make([]Resource, 0, len(f.Resources))
	for i := range f.Resources {
		list = append(list, resourceOf(before, f, &f.Resources[i]))
	}
	return list
}

func resourceOf(before *Snapshot, f *Facts, a *plan.ResourceAssessment) Resource {
	r := Resource{APIVersion: manifest.APIVersion, Kind: string(a.Kind), Metadata: ResourceMetadata{Name: a.Name}}
	r.Status = ResourceStatus{Host: f.Host, State: "Missing", Staged: a.Staged}
	if a.Wanted != nil {
		r.Metadata.Document = a.Wanted.Document
	}
	if o := a.Observed; o != nil {
		r.Status.UUID, r.Status.Autostart, r.Status.State = o.UUID, o.Autostart, "Inactive"
		switch {
		case o.Stuck:
			r.Status.State = "Unknown"
		case o.Active:
			r.Status.State = "Active"
		}
	}
	if fail, ok := f.ResourceFailures[a.Key()]; ok {
		r.Status.Failure = &Failed{Message: fail.Message, Time: fail.Time, Attempts: fail.Attempts, NextTry: fail.NotBefore}
	}
	r.Status.Conditions = resourceConditions(a, r.Status)
	n := slices.IndexFunc(before.Resources, func(o Resource) bool { return o.Kind == r.Kind && o.Metadata.Name == r.Metadata.Name })
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		c.LastTransitionTime = f.Now
		if n >= 0 && before.Resources[n].Status.Conditions[i].Status == c.Status {
			c.LastTransitionTime = before.Resources[n].Status.Conditions[i].LastTransitionTime
		}
	}
	return r
}

// resourceConditions are the same four as an instance's, in the same order.
func resourceConditions(a *plan.ResourceAssessment, s ResourceStatus) []Condition {
	is := func(kind string, ok bool, reason, message string) Condition {
		return Condition{Type: kind, Status: map[bool]string{true: "True", false: "False"}[ok], Reason: reason, Message: message}
	}
	want := a.Wanted != nil && a.Wanted.Active
	synced := is(Synced, true, "InSync", "")
	switch {
	case s.Failure != nil:
		synced = is(Synced, false, "Failing", s.Failure.Message)
	case len(a.Actions) > 0:
		synced = is(Synced, false, a.Actions[0].Reason, a.Actions[0].Message)
	case len(a.Notes) > 0:
		synced.Reason, synced.Message = a.Notes[0].Reason, a.Notes[0].Message
	}
	restart := is(RestartRequired, false, "NothingStaged", "")
	if len(a.Staged) > 0 {
		message := ""
		for n, c := range a.Staged {
			message += []string{"", ", "}[min(n, 1)] + c.Path
		}
		restart = is(RestartRequired, true, "Staged", message)
	}
	blocked := is(Blocked, false, "NotBlocked", "")
	if len(a.Blocked) > 0 {
		blocked = is(Blocked, true, a.Blocked[0].Reason, a.Blocked[0].Message)
	}
	return []Condition{is(Ready, !want || s.State == "Active", s.State, ""), synced, restart, blocked}
}

// Is says whether a condition is true.
func (r Resource) Is(kind string) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c Condition) bool { return c.Type == kind && c.Status == "True" })
}

// Lines are what the page says of it.
func (r Resource) Lines() []string {
	var list []string
	for _, c := range r.Status.Conditions {
		if (c.Type == Synced && c.Message != "" || c.Type == Blocked && c.Status == "True") && !slices.Contains(list, c.Message) {
			list = append(list, c.Message)
		}
	}
	return list
}

// resources answers with those of a kind.
func (s *Server) resources(kind resource.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		snapshot := s.latest.Load()
		list(w, string(kind)+"List", func(yield func(Resource) bool) {
			for _, r := range snapshot.Resources {
				if r.Kind == string(kind) && !yield(r) {
					return
				}
			}
		})
	}
}

// withoutSteps are a plan's actions without their steps, which hold XML.
func withoutSteps(actions []plan.ResourceAction) []plan.ResourceAction {
	actions = slices.Clone(actions)
	for n := range actions {
		actions[n].Steps = nil
	}
	return actions
}

// resourceEvents are those of the networks and pools: what begins, and what fails.
func (l *eventList) resourceEvents(before, s *Snapshot) {
	same := func(list []plan.ResourceAction, a plan.ResourceAction) bool {
		return slices.ContainsFunc(list, func(b plan.ResourceAction) bool {
			return a.Kind == b.Kind && a.Name == b.Name && a.Effect == b.Effect && a.Reason == b.Reason && a.Message == b.Message
		})
	}
	for _, a := range s.Facts.Plan.Resources {
		if !same(before.Facts.Plan.Resources, a) {
			l.add("", a.Reason, string(a.Kind)+"/"+a.Name+": "+string(a.Effect)+": "+a.Message)
		}
	}
	for key, f := range s.Facts.ResourceFailures {
		if before.Facts.ResourceFailures[key].Message != f.Message {
			l.add("", "Failed", key+": "+f.Message)
		}
	}
}

// resourceMetrics are the series of networks and pools.
type resourceMetrics struct{ active, synced, restart, blocked *prometheus.Desc }

func newResourceMetrics() resourceMetrics {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("gitvirt_resource_"+name, help, []string{"kind", "name"}, nil)
	}
	return resourceMetrics{
		active:  desc("active", "Whether the network or storage pool is active."),
		synced:  desc("synced", "Whether the network or storage pool is defined as its document says."),
		restart: desc("restart_required", "Whether changes wait until the network or storage pool is started anew."),
		blocked: desc("blocked", "Whether something cannot be done to the network or storage pool."),
	}
}

func (m resourceMetrics) all() []*prometheus.Desc {
	return []*prometheus.Desc{m.active, m.synced, m.restart, m.blocked}
}

func (m resourceMetrics) collect(list []Resource, gauge func(d *prometheus.Desc, v float64, labels ...string)) {
	for _, r := range list {
		gauge(m.active, number(r.Status.State == "Active"), r.Kind, r.Metadata.Name)
		gauge(m.synced, number(r.Is(Synced)), r.Kind, r.Metadata.Name)
		gauge(m.restart, number(r.Is(RestartRequired)), r.Kind, r.Metadata.Name)
		gauge(m.blocked, number(r.Is(Blocked)), r.Kind, r.Metadata.Name)
	}
}
