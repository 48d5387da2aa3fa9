package status

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed page.html
var pageText string

// page shows the snapshot to people.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	t, err := template.New("page").Funcs(template.FuncMap{"short": short}).Parse(pageText)
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
