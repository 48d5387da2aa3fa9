package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Listed is a plan as JSON shows it: one with nothing to do has an empty list of actions, and not null.
func Listed(p plan.Plan) plan.Plan {
	if p.Actions == nil {
		p.Actions = []plan.Action{}
	}
	return p
}

// list answers with a list in Kubernetes' form. It is written item by item: a thousand instances with their specs are
// some megabytes, of which one at a time is in memory.
func list[T any](w http.ResponseWriter, kind string, items iter.Seq[T]) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{\n  \"apiVersion\": %q,\n  \"kind\": %q,\n  \"items\": [", manifest.APIVersion, kind)
	var b bytes.Buffer
	e := encoder(&b, "    ")
	comma := ""
	for item := range items {
		if b.Reset(); e.Encode(item) != nil {
			// Half a list must not be taken for a whole one: the connection ends before the last chunk.
			panic(http.ErrAbortHandler)
		}
		if _, err := fmt.Fprintf(w, "%s\n    %s", comma, bytes.TrimSpace(b.Bytes())); err != nil {
			return // the reader has gone
		}
		comma = ","
	}
	if comma != "" {
		fmt.Fprint(w, "\n  ")
	}
	fmt.Fprintln(w, "]\n}")
}

// fail answers with an error, in Kubernetes' form.
func fail(w http.ResponseWriter, code int, err error) {
	reply(w, code, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "message": err.Error()})
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = encoder(w, "").Encode(v) // the reader may have gone
}

// encoder writes for people as well as for programs. No browser takes it for HTML, so domainXML keeps its brackets.
func encoder(w io.Writer, prefix string) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetIndent(prefix, "  ")
	e.SetEscapeHTML(false)
	return e
}
