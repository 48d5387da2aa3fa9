package plan

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// tried is a machine with rollback, its domain, and what is known of it: it runs what is wanted, and ran well on something else.
type tried struct {
	domain Domain
	mem    Memory
	wanted Wanted
}

func newTried(t *testing.T) *tried {
	t.Helper()
	i := instance(t, "a")
	i.Rollback, i.Progress, i.Rollout, i.Revision = manifest.RollbackOnFailure, time.Minute, manifest.RolloutRestart, "new"
	xml, meta := creation(i)
	meta.Run, meta.UID, meta.Outcome, meta.Started = 1, "u", metadata.OutcomeStarted, i.Digest
	meta.Good = metadata.Version{Revision: "old", Digest: "sha256:old"}
	meta.Put(xml)
	live := meta
	text := xml.String()
	back := instance(t, "a")
	back.Revision, back.Digest = "old", "sha256:old"
	return &tried{
		domain: Domain{Name: "a", UUID: i.UUID, ID: 7, State: DomainRunning, Persistent: true, Autostart: true,
			Inactive: XML{Packed: Plain(text), Hash: "1", Meta: &meta}, Live: XML{Packed: Plain(text), Hash: "2", Meta: &live}},
		mem: Memory{Now: time.Unix(1000, 0), Ready: map[string]Readiness{"a": {ID: 7, Since: time.Unix(950, 0), Message: "refused"}}},
		wanted: Wanted{Host: "h", Revision: "newest", Instances: []*render.Instance{i},
			Fallback: map[string]Fallback{"a": {Instance: back}}},
	}
}

func (x *tried) off(reason string) {
	x.domain.ID, x.domain.State, x.domain.Reason, x.domain.Live = -1, DomainShutoff, reason, XML{}
}

// TestWhenItGoesBack is what counts as a revision's failure, and what does not.
func TestWhenItGoesBack(t *testing.T) {
	set := func(r Readiness) func(*tried) { return func(x *tried) { x.mem.Ready["a"] = r } }
	for name, tt := range map[string]struct {
		given func(x *tried)
		why   string // empty when it does not
		wake  time.Time
	}{
		"it still has time":             {func(*tried) {}, "", time.Unix(1010, 0)},
		"its time is over":              {set(Readiness{ID: 7, Since: time.Unix(940, 0), Message: "refused"}), "it is not up after 1m0s: refused", time.Time{}},
		"it is up":                      {set(Readiness{ID: 7, Since: time.Unix(1, 0), Ready: true}), "", time.Time{}},
		"what is known is of a run ago": {set(Readiness{ID: 6, Since: time.Unix(1, 0), Message: "refused"}), "", time.Time{}},
		"nobody asks":                   {func(x *tried) { x.mem.Ready = nil }, "", time.Time{}},
		"it crashed, and QEMU keeps it": {func(x *tried) { x.domain.State = DomainCrashed }, "the guest crashed before it was ready", time.Time{}},
		"it was asked to go down": {func(x *tried) {
			set(Readiness{ID: 7, Since: time.Unix(1, 0)})(x)
			x.mem.Asked = map[string]Asked{"a": {First: time.Unix(999, 0), Last: time.Unix(999, 0)}}
		}, "", time.Time{}},
		"a restart is wanted": {func(x *tried) {
			set(Readiness{ID: 7, Since: time.Unix(1, 0)})(x)
			x.wanted.Instances[0].Run = 2
		}, "", time.Time{}},
		"it ran well on it before": {func(x *tried) {
			set(Readiness{ID: 7, Since: time.Unix(1, 0)})(x)
			x.domain.Inactive.Meta.Good.Digest = x.wanted.Instances[0].Digest
		}, "", time.Time{}},
		"it never ran well": {func(x *tried) {
			set(Readiness{ID: 7, Since: time.Unix(1, 0)})(x)
			x.domain.Inactive.Meta.Good = metadata.Version{}
		}, "", time.Time{}},
		"it was changed while it ran": {func(x *tried) {
			set(Readiness{ID: 7, Since: time.Unix(1, 0)})(x)
			x.domain.Inactive.Meta.Started = "sha256:old"
		}, "", time.Time{}},
		"it is not to go back": {func(x *tried) {
			set(Readiness{ID: 7, Since: time.Unix(1, 0)})(x)
			x.wanted.Instances[0].Rollback = manifest.RollbackNever
		}, "", time.Time{}},
		"it crashed":            {func(x *tried) { x.off("crashed") }, "the guest went down before it was ready (crashed)", time.Time{}},
		"it powered off":        {func(x *tried) { x.off("shutdown") }, "the guest went down before it was ready (shutdown)", time.Time{}},
		"a person destroyed it": {func(x *tried) { x.off("destroyed") }, "", time.Time{}},
		"the host lost power":   {func(x *tried) { x.off("unknown") }, "", time.Time{}},
		"a job ended": {func(x *tried) {
			x.off("shutdown")
			x.wanted.Instances[0].RestartPolicy = manifest.RestartNever
		}, "", time.Time{}},
		"it was the version before that crashed": {func(x *tried) {
			x.off("crashed")
			x.domain.Inactive.Meta.Started = "sha256:old"
		}, "", time.Time{}},
		"two starts failed": {func(x *tried) {
			x.off("failed")
			x.domain.Inactive.Meta.Outcome = metadata.OutcomeNone
			x.mem.Starts = map[string]Starts{"a": {Digest: x.wanted.Instances[0].Digest, Failures: 2}}
		}, "", time.Time{}},
		"three starts failed": {func(x *tried) {
			x.off("failed")
			x.domain.Inactive.Meta.Outcome = metadata.OutcomeNone
			x.mem.Starts = map[string]Starts{"a": {Digest: x.wanted.Instances[0].Digest, Failures: 3, Message: "no kernel"}}
		}, "it could not be started 3 times: no kernel", time.Time{}},
		"three starts of another version failed": {func(x *tried) {
			x.off("failed")
			x.domain.Inactive.Meta.Outcome = metadata.OutcomeNone
			x.mem.Starts = map[string]Starts{"a": {Digest: "sha256:other", Failures: 3}}
		}, "", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTried(t)
			tt.given(x)
			_, all := Make(x.wanted, World{Domains: []Domain{x.domain}}, x.mem)
			var why string
			for _, action := range all[0].Actions {
				for _, s := range action.Steps {
					if s.Metadata != nil && s.Metadata.Failed.Digest != "" {
						why = s.Metadata.Failed.Reason
						if len(all[0].Actions) != 1 || len(action.Steps) != 1 || action.Reason != "RollingBack" || s.Metadata.Failed.Revision != "new" {
							t.Errorf("more is done than to record it: %+v", all[0].Actions)
						}
					}
				}
			}
			if why != tt.why {
				t.Errorf("it failed because %q, want %q", why, tt.why)
			}
			if !tt.wake.IsZero() && !all[0].Wake.Equal(tt.wake) {
				t.Errorf("it is looked at again at %v, want %v", all[0].Wake, tt.wake)
			}
		})
	}
}

// TestGoingBack: what a domain that failed gets, by the state that it is in.
func TestGoingBack(t *testing.T) {
	for name, tt := range map[string]struct {
		given func(x *tried)
		does  []string
	}{
		"it runs":   {func(*tried) {}, []string{"blocked RolledBack", "next-start Edited", "restart RolledBack"}},
		"it is off": {func(x *tried) { x.off("crashed") }, []string{"blocked RolledBack", "next-start Edited", "start RolledBack"}},
		"it is off, and is not restarted by itself": {func(x *tried) {
			x.off("crashed")
			x.wanted.Fallback["a"].Instance.RestartPolicy = manifest.RestartNever
			x.domain.Autostart = false
		}, []string{"blocked RolledBack", "next-start Edited", "start RolledBack"}},
		"it is to be stopped": {func(x *tried) {
			x.wanted.Fallback["a"].Instance.State = manifest.StateStopped
			x.domain.Autostart = false
		}, []string{"blocked RolledBack", "next-start Edited", "stop Stopped"}},
		"the earlier revision is gone": {func(x *tried) { x.wanted.Fallback["a"] = Fallback{Why: "no such commit"} }, []string{"blocked RolledBack"}},
		"another version is wanted":    {func(x *tried) { x.domain.Inactive.Meta.Failed.Digest = "sha256:other" }, []string{"live Record"}},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTried(t)
			i := x.wanted.Instances[0]
			x.wanted.Fallback["a"].Instance.Domain.Child("memory").Text = "65536"
			x.wanted.Fallback["a"].Instance.Rollback = manifest.RollbackOnFailure
			x.domain.Inactive.Meta.Failed = metadata.Failure{Version: metadata.Version{Revision: "new", Digest: i.Digest}, Reason: "refused"}
			tt.given(x)
			_, all := Make(x.wanted, World{Domains: []Domain{x.domain}}, x.mem)
			var does []string
			for _, action := range all[0].Actions {
				does = append(does, string(action.Effect)+" "+action.Reason)
				for _, s := range action.Steps {
					if s.Op == OpDefine && (!strings.Contains(s.XML, "gitvirt:failed") || !strings.Contains(s.XML, ">65536<")) {
						t.Errorf("it is defined as\n%s", s.XML)
					}
				}
			}
			if !slices.Equal(does, tt.does) {
				t.Errorf("done: %q, want %q", does, tt.does)
			}
		})
	}
}

// TestWhatItRunsWellOn: a machine is known to run well on what it was started from, once it is up.
func TestWhatItRunsWellOn(t *testing.T) {
	for name, tt := range map[string]struct {
		given func(x *tried)
		good  string // empty when nothing new is recorded
	}{
		"it is up":     {func(*tried) {}, "new"},
		"it is not up": {func(x *tried) { x.mem.Ready["a"] = Readiness{ID: 7, Since: time.Unix(999, 0)} }, ""},
		"nobody asks":  {func(x *tried) { x.mem.Ready = nil }, ""},
		"it was changed while it ran": {func(x *tried) {
			x.domain.Inactive.Meta.Started = "sha256:old"
		}, ""},
		"it is not known what it was started from": {func(x *tried) { x.domain.Inactive.Meta.Started = "" }, "new"},
		"it is not to go back":                     {func(x *tried) { x.wanted.Instances[0].Rollback = manifest.RollbackNever }, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTried(t)
			x.mem.Ready["a"] = Readiness{ID: 7, Since: time.Unix(1, 0), Ready: true}
			tt.given(x)
			_, all := Make(x.wanted, World{Domains: []Domain{x.domain}}, x.mem)
			good := ""
			for _, action := range all[0].Actions {
				for _, s := range action.Steps {
					if s.Metadata != nil {
						good = cmp.Or(s.Metadata.Good.Revision, "none")
					}
				}
			}
			if good != tt.good {
				t.Errorf("it runs well on %q, want %q: %+v", good, tt.good, all[0].Actions)
			}
		})
	}
}
