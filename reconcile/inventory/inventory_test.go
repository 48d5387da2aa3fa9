package inventory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/inventory"
	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
)

// host has volumes, and notes what is asked of it.
type host struct {
	mu      sync.Mutex // TestRun has two goroutines
	storage plan.Storage
	err     error
	said    []string
	claimed map[string]bool
}

func (h *host) Observe(context.Context) (plan.World, error) { return plan.World{}, h.err }
func (h *host) Refresh(context.Context) error {
	h.said = append(h.said, "refresh")
	return nil
}

func (h *host) Stored(context.Context, plan.World) (plan.Storage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, "list")
	return plan.Storage{Volumes: slices.Clone(h.storage.Volumes), Unread: h.storage.Unread}, nil
}

func (h *host) Claim(pool, name string) (func(), error) {
	if name == "busy" {
		return nil, errors.New("it is being made")
	}
	h.claimed[name] = true
	return func() { delete(h.claimed, name) }, nil
}

func (h *host) DeleteStored(_ context.Context, v plan.Stored) error {
	if !h.claimed[v.Name] {
		return errors.New("it is not claimed")
	}
	if v.Name == "fails" {
		return errors.New("no")
	}
	h.said = append(h.said, "delete "+v.Name)
	return nil
}

func volume(name string, made plan.Made, users ...string) plan.Stored {
	return plan.Stored{Pool: "p", Name: name, Made: made, Instance: strings.Split(name, ".")[0], UsedBy: users}
}

func start(t *testing.T, h *host, view *inventory.View) *inventory.Inventory {
	t.Helper()
	h.claimed = map[string]bool{}
	return inventory.New(inventory.Options{
		Host: h, View: func() inventory.View { return *view }, File: filepath.Join(t.TempDir(), "sub", "orphans.json"), Logger: slog.New(slog.DiscardHandler),
	})
}

func TestDelete(t *testing.T) {
	all := []plan.Stored{
		volume("web.root.qcow2", plan.MadeHere), volume("db.root.qcow2", plan.MadeHere, "domain db"),
		volume("old.root.qcow2", plan.MadePerhaps), volume("disk", plan.MadeOther),
		volume("base.root.qcow2", plan.MadeHere, "image p/top.root.qcow2"), volume("top.root.qcow2", plan.MadeHere),
		volume("new.root.qcow2", plan.MadeHere), volume("bad.root.qcow2", plan.MadeHere), volume("fails", plan.MadeHere),
	}
	assessments := []plan.Assessment{
		{Name: "new", Instance: &render.Instance{Name: "new", Volumes: []render.Volume{{Pool: "p", File: "new.root.qcow2"}}}}, {Name: "bad"},
	}
	sound := inventory.View{Revision: "a", Assessments: assessments}
	for name, test := range map[string]struct {
		volumes []string
		edit    func(*inventory.Request, *inventory.View, *host)
		want    []string // deleted
		refused string
		err     string
	}{
		"an orphan":              {volumes: []string{"web.root.qcow2"}, want: []string{"web.root.qcow2"}},
		"twice named":            {volumes: []string{"web.root.qcow2", "web.root.qcow2"}, want: []string{"web.root.qcow2"}},
		"only to see":            {volumes: []string{"web.root.qcow2"}, edit: func(r *inventory.Request, _ *inventory.View, _ *host) { r.DryRun = true }},
		"used":                   {volumes: []string{"web.root.qcow2", "db.root.qcow2"}, refused: "p/db.root.qcow2: it is used by domain db"},
		"wanted":                 {volumes: []string{"new.root.qcow2"}, refused: "the revision in force has it for a machine of this host (new)"},
		"of a broken document":   {volumes: []string{"bad.root.qcow2"}, refused: "the revision in force has it"},
		"not marked":             {volumes: []string{"old.root.qcow2"}, refused: "say --foreign"},
		"another's":              {volumes: []string{"disk"}, refused: "say --foreign"},
		"another's, nonetheless": {volumes: []string{"disk", "old.root.qcow2"}, edit: func(r *inventory.Request, _ *inventory.View, _ *host) { r.Foreign = true }, want: []string{"disk", "old.root.qcow2"}},
		"below another":          {volumes: []string{"base.root.qcow2"}, refused: "it is used by image p/top.root.qcow2"},
		"with what is above":     {volumes: []string{"base.root.qcow2", "top.root.qcow2"}, want: []string{"top.root.qcow2", "base.root.qcow2"}},
		"none such":              {volumes: []string{"none"}, refused: "p/none: there is no such volume"},
		"busy":                   {volumes: []string{"busy"}, err: "it is being made"},
		"not deleted":            {volumes: []string{"fails"}, err: "cannot delete p/fails: no"},
		"no revision":            {volumes: []string{"web.root.qcow2"}, edit: func(_ *inventory.Request, v *inventory.View, _ *host) { v.Revision = "" }, err: "no revision is in force"},
		"broken documents":       {volumes: []string{"web.root.qcow2"}, edit: func(_ *inventory.Request, v *inventory.View, _ *host) { v.Broken = true }, refused: "mend them first"},
		"a pool unread":          {volumes: []string{"web.root.qcow2"}, edit: func(_ *inventory.Request, _ *inventory.View, h *host) { h.storage.Unread = []string{"storage pool q"} }, refused: "cannot read storage pool q"},
		"libvirt away":           {volumes: []string{"web.root.qcow2"}, edit: func(_ *inventory.Request, _ *inventory.View, h *host) { h.err = errors.New("away") }, err: "away"},
	} {
		t.Run(name, func(t *testing.T) {
			h, view := &host{storage: plan.Storage{Volumes: all}}, sound
			var r inventory.Request
			for _, v := range test.volumes {
				r.Volumes = append(r.Volumes, "p/"+v)
			}
			if test.edit != nil {
				test.edit(&r, &view, h)
			}
			a := start(t, h, &view).Delete(t.Context(), r)
			var deleted []string
			for _, s := range h.said {
				if name, ok := strings.CutPrefix(s, "delete "); ok {
					deleted = append(deleted, name)
				}
			}
			if !slices.Equal(deleted, test.want) || len(a.Deleted) != len(test.want) || len(h.claimed) > 0 {
				t.Errorf("deleted %v (%v), want %v; still claimed: %v", deleted, a.Deleted, test.want, h.claimed)
			}
			if text := strings.Join(a.Refused, "\n"); !strings.Contains(text, test.refused) || (text == "") != (test.refused == "") {
				t.Errorf("refused %q", text)
			}
			if !strings.Contains(a.Error, test.err) || (a.Error == "") != (test.err == "") {
				t.Errorf("error %q", a.Error)
			}
			if test.err == "" && h.said[0] != "refresh" {
				t.Errorf("it did not look afresh: %v", h.said)
			}
		})
	}
	for _, name := range []string{"", "p", "p/", "/x", "p/a/b"} {
		h, view := &host{}, sound
		if a := start(t, h, &view).Delete(t.Context(), inventory.Request{Volumes: []string{name}}); !strings.Contains(a.Error, "say POOL/NAME") {
			t.Errorf("%q: %+v", name, a)
		}
	}
}

// TestSince: an orphan is one since it was first seen, for a later agent too, until it is none any more.
func TestSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := inventory.View{Revision: "a"}
		h := &host{storage: plan.Storage{Volumes: []plan.Stored{volume("web.root.qcow2", plan.MadeHere)}}, claimed: map[string]bool{}}
		file := filepath.Join(t.TempDir(), "orphans.json")
		begin := func() *inventory.Inventory {
			return inventory.New(inventory.Options{Host: h, View: func() inventory.View { return view }, File: file, Logger: slog.New(slog.DiscardHandler)})
		}
		v := begin()
		first := time.Now()
		list := func() *time.Time {
			time.Sleep(time.Hour)
			if _, err := v.List(t.Context()); err != nil {
				t.Fatal(err)
			}
			if all := v.Latest().Volumes; len(all) > 0 {
				return all[0].OrphanedSince
			}
			return nil
		}
		want := first.Add(time.Hour)
		for range 2 {
			if got := list(); got == nil || !got.Equal(want) {
				t.Errorf("since %v, want %v", got, want)
			}
			v = begin()
		}
		h.storage.Unread, h.storage.Volumes = []string{"storage pool p"}, nil
		list()
		h.storage.Unread, h.storage.Volumes = nil, []plan.Stored{volume("web.root.qcow2", plan.MadeHere)}
		if got := list(); got == nil || !got.Equal(want) {
			t.Errorf("since %v after its pool was away", got)
		}
		h.storage.Volumes[0].UsedBy = []string{"domain web"}
		if got := list(); got != nil {
			t.Errorf("in use, and an orphan since %v", got)
		}
		h.storage.Volumes[0].UsedBy = nil
		if got := list(); got == nil || !got.After(want) {
			t.Errorf("an orphan anew since %v", got)
		}
		// What is lost is begun anew.
		if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		v = begin()
		if got := list(); got == nil || !got.Equal(time.Now()) {
			t.Errorf("since %v without a file", got)
		}
	})
}

// TestRun lists when asked, at the interval, and sooner where not all could be read; never without a revision.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &inventory.View{}
		h := &host{}
		v := start(t, h, view)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			v.Run(ctx)
			close(done)
		}()
		after := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			if len(h.said) != want {
				t.Errorf("listed %d times, want %d", len(h.said), want)
			}
		}
		v.Look()
		after(time.Second, 0)
		view.Revision = "a"
		v.Look()
		after(time.Second, 1)
		after(inventory.Interval, 2)
		h.mu.Lock()
		h.storage.Unread = []string{"storage pool p"}
		h.mu.Unlock()
		after(inventory.Interval, 3)
		after(2*time.Minute, 5)
		cancel()
		<-done
	})
}

func TestHandler(t *testing.T) {
	view := inventory.View{Revision: "a"}
	h := &host{storage: plan.Storage{Volumes: []plan.Stored{volume("web.root.qcow2", plan.MadeHere)}}}
	handler := start(t, h, &view).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for _, test := range []struct {
		method, path, body string
		code               int
		want               inventory.Answer
	}{
		{"POST", "/volumes/delete", `{"volumes": ["p/web.root.qcow2"]}`, 200, inventory.Answer{Volumes: []plan.Stored{{}}, Deleted: []string{"p/web.root.qcow2"}}},
		{"POST", "/volumes/delete", `{"volumes": ["p"]}`, 503, inventory.Answer{Error: `"p" is no volume: say POOL/NAME`}},
		{"POST", "/volumes/delete", `{"volumes": [`, 400, inventory.Answer{Error: "cannot read the request: unexpected EOF"}},
		{"POST", "/volumes/delete", `{"volume": []}`, 400, inventory.Answer{Error: `cannot read the request: json: unknown field "volume"`}},
		{"POST", "/reconcile", ``, 418, inventory.Answer{}},
		{"GET", "/volumes/delete", ``, 418, inventory.Answer{}},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), test.method, test.path, strings.NewReader(test.body)))
		var got inventory.Answer
		if w.Code != http.StatusTeapot {
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Error(err)
			}
		}
		if w.Code != test.code || got.Error != test.want.Error || !reflect.DeepEqual(got.Deleted, test.want.Deleted) || len(got.Volumes) != len(test.want.Volumes) {
			t.Errorf("%s %s %s: %d %+v", test.method, test.path, test.body, w.Code, got)
		}
	}
	if fmt.Sprint(h.said) != "[refresh list delete web.root.qcow2]" {
		t.Errorf("%v", h.said)
	}
}
