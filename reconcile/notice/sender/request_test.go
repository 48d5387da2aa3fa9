package sender

import (
	"io"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/notice"
)

// TestNamesInRequests: whatever a host, branch or message is called, it stays a value of the body; a project's path stays one
// segment; and an agent that follows tags names no branch.
func TestNamesInRequests(t *testing.T) {
	n := notice.Notice{Commit: strings.Repeat("a", 40), State: notice.Success, Text: "line\nline \x1b[2J\x00 \"quoted\" <b> \u202e"}
	odd := "kvm 1/ü\"\n&{}\u2028"
	for name, tt := range map[string]struct {
		target Target
		branch string
		path   string
		want   []string
		not    string
	}{
		"GitLab":       {Target{Provider: GitLab, URL: "https://git.example.org/sub/", Repository: "a/b.c/d-e"}, odd, "/sub/api/v4/projects/a%2Fb.c%2Fd-e/statuses/" + n.Commit, []string{`"ref":"kvm 1/`}, ""},
		"GitLab, tags": {Target{Provider: GitLab, URL: "https://git.example.org", Repository: "a/b"}, "", "/api/v4/projects/a%2Fb/statuses/" + n.Commit, nil, `"ref"`},
		"GitHub":       {Target{Provider: GitHub, URL: "https://git.example.org/api/v3", Repository: "a.b/c_d"}, odd, "/api/v3/repos/a.b/c_d/statuses/" + n.Commit, nil, `"ref"`},
		"Gitea":        {Target{Provider: Gitea, URL: "https://git.example.org", Repository: "a/b"}, odd, "/api/v1/repos/a/b/statuses/" + n.Commit, nil, `"ref"`},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := tt.target.request(t.Context(), n, who{host: odd, branch: tt.branch, version: "1"}, "token", "")
			if err != nil {
				t.Fatal(err)
			}
			if got := q.URL.EscapedPath(); got != tt.path {
				t.Errorf("it goes to %s, want %s", got, tt.path)
			}
			raw, err := io.ReadAll(q.Body)
			if err != nil {
				t.Fatal(err)
			}
			body := string(raw)
			for _, want := range append(tt.want, `"context":"gitvirt/kvm 1/ü\"\n\u0026{}\u2028"`) {
				if !strings.Contains(body, want) {
					t.Errorf("no %s in %s", want, body)
				}
			}
			if tt.not != "" && strings.Contains(body, tt.not) || strings.ContainsAny(body, "\n\x00\x1b") {
				t.Errorf("the body is %s", body)
			}
		})
	}
}
