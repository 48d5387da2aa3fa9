package status

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/resource"
)

// TestResourcesAreShown: in the API, on the page, in the metrics and among the events.
func TestResourcesAreShown(t *testing.T) {
	lan := plan.ResourceAssessment{
		Kind: resource.Network, Name: "lan", Wanted: &resource.Resource{Active: true, Document: "lan-a"},
		Observed: &plan.Resource{Kind: resource.Network, Name: "lan", UUID: "u", Active: true, Persistent: true, Inactive: "<network/>"}, InSync: true,
		Staged: []plan.Staged{{Change: plan.Change{Path: "mtu", To: "size=9000"}, Effect: plan.EffectRestart, Restart: true}},
		Notes:  []plan.Block{{Reason: "RestartRequired", Message: "changes wait"}},
	}
	held := plan.ResourceAction{Kind: resource.Pool, Name: "vms", Effect: plan.EffectBlocked, Reason: "InUse", Message: "machines use it", Steps: []plan.Step{{XML: "<pool/>"}}}
	vms := plan.ResourceAssessment{Kind: resource.Pool, Name: "vms", Observed: &plan.Resource{}, Blocked: []plan.Block{{Reason: "InUse", Message: "machines use it"}}, Actions: []plan.ResourceAction{held}}
	f := Facts{Now: time.Unix(1000, 0), Host: "kvm1", Libvirt: Libvirt{Up: true}, Source: Source{Revision: "c"}, Assessments: []plan.Assessment{},
		Plan: plan.Plan{Resources: []plan.ResourceAction{held}}, Resources: []plan.ResourceAssessment{lan, vms},
		ResourceFailures: map[string]Failure{"StoragePool/vms": {Message: "no room", Attempts: 2}}}
	registry := prometheus.NewRegistry()
	s := NewServer(registry, Sources{Alive: func() bool { return true }})
	s.Publish(f)
	f.Now = time.Unix(2000, 0)
	s.Publish(f)
	get := func(path string) string {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Body.String()
	}
	var list struct{ Items []Resource }
	if err := json.Unmarshal([]byte(get("/api/v1alpha1/networks")), &list); err != nil || len(list.Items) != 1 {
		t.Fatal(list, err)
	}
	got := list.Items[0]
	if got.Status.State != "Active" || !got.Is(Ready) || !got.Is(Synced) || !got.Is(RestartRequired) || got.Is(Blocked) || got.Metadata.Document != "lan-a" ||
		!got.Status.Conditions[0].LastTransitionTime.Equal(time.Unix(1000, 0)) || len(got.Status.Staged) != 1 {
		t.Errorf("%+v", got)
	}
	for path, wants := range map[string][]string{
		"/api/v1alpha1/storagepools": {`"no room"`, `"state": "Inactive"`, `"reason": "InUse"`},
		"/api/v1alpha1/plan":         {`"kind": "StoragePool"`, `"name": "vms"`},
		"/api/v1alpha1/events":       {"StoragePool/vms: blocked: machines use it", "StoragePool/vms: no room"},
		"/":                          {"Networks and storage pools", "machines use it", "<code>mtu</code>"},
		"/metrics":                   {`gitvirt_resource_active{kind="Network",name="lan"} 1`, `gitvirt_resource_blocked{kind="StoragePool",name="vms"} 1`, `gitvirt_resource_restart_required{kind="Network",name="lan"} 1`},
	} {
		body := get(path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s: there is no %s in\n%s", path, want, body)
			}
		}
	}
	if n := strings.Count(get("/api/v1alpha1/events"), "machines use it"); n != 1 {
		t.Errorf("the event is there %d times", n)
	}
	if latest := s.Latest(); latest.Facts.Resources != nil || latest.Facts.Plan.Resources[0].Steps != nil {
		t.Error("XML is kept")
	}
}
