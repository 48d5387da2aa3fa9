package status

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"slices"
)

//go:embed page.html
var pageText string

// page shows the snapshot to people.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	t, err := template.New("page").Funcs(template.FuncMap{"short": short, "lines": lines, "newest": newest}).Parse(pageText)
	var b bytes.Buffer
	if err == nil {
		err = t.Execute(&b, s.latest.Load())
	}
	if err != nil {
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
