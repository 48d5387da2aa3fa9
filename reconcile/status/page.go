package status

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// A page is what people see.
type page struct {
	template *template.Template
	// policy is the Content-Security-Policy: the page's own style is let in by its hash, and nothing else is.
	policy string
}

func newPage() page {
	sum := sha256.Sum256([]byte(pageStyle))
	return page{
		template: template.Must(template.New("page").Funcs(template.FuncMap{
			"short": short, "stamp": stamp, "summary": summary, "colour": colour, "wanted": wanted,
			"lines": lines, "addresses": Devices.Addresses, "newest": newest, "first": first, "more": more, "configs": fewConfigs, "style": func() template.CSS { return template.CSS(pageStyle) },
		}).Parse(pageText)),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
}

// page shows the snapshot to people.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	if err := s.people.template.Execute(&b, s.latest.Load()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // the reader may have gone
}

// short is a commit as people say it.
func short(commit string) string {
	if len(commit) > 10 {
		return commit[:10]
	}
	return commit
}

// stamp is a time as people read it; the page cannot know their zone.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// summary counts instances by phase, and those that something is wrong with.
func summary(instances []Instance) string {
	phases, blocked, failing := map[string]int{}, 0, 0
	for n := range instances {
		i := &instances[n]
		phases[string(i.Status.Phase)]++
		if i.is(Blocked) {
			blocked++
		}
		if i.Status.Failure != nil {
			failing++
		}
	}
	text := fmt.Sprint(len(instances))
	for n, phase := range slices.Sorted(maps.Keys(phases)) {
		text += fmt.Sprintf("%s %d %s", []string{":", ","}[min(n, 1)], phases[phase], phase)
	}
	if blocked > 0 {
		text += fmt.Sprintf("; %d blocked", blocked)
	}
	if failing > 0 {
		text += fmt.Sprintf("; %d failing", failing)
	}
	return text
}

// colour is the class of an instance's phase: what is as it should be is good, and the rest is under way or wrong.
func colour(i Instance) string {
	switch {
	case i.Status.Phase == plan.PhaseFailed || i.Status.Phase == plan.PhaseUnknown:
		return "bad"
	case i.is(Ready):
		return "good"
	}
	return "wait"
}

// wanted is the state that an instance should be in; one that nobody asks for goes, unless something holds it.
func wanted(i Instance) string {
	switch {
	case i.Status.Desired != "":
		return i.Status.Desired
	case i.is(Blocked):
		return "held"
	}
	return "gone"
}

// line is something that the page says of an instance; Class is how bad it is.
type line struct{ Class, Text string }

// lines are what there is to say of an instance, each thing once: an error and a block make it unsynced as well.
func lines(i Instance) []line {
	var list []line
	said := map[string]bool{}
	if f := i.Status.Failure; f != nil {
		list, said[f.Message] = append(list, line{"bad", f.Message}), true
	}
	var synced Condition
	for _, c := range i.Status.Conditions {
		switch {
		case c.Type == Blocked && c.Status == "True" && !said[c.Message]:
			list, said[c.Message] = append(list, line{"bad", c.Reason + ": " + c.Message}), true
		case c.Type == Synced:
			synced = c
		}
	}
	if synced.Message != "" && !said[synced.Message] {
		list = append(list, line{"wait", synced.Message})
	}
	return list
}

// newest are the events, the newest first.
func newest(events []Event) []Event {
	events = slices.Clone(events)
	slices.Reverse(events)
	return events
}
