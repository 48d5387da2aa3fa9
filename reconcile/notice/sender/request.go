package sender

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/notice"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// maxText is how long a commit status's description may be: GitHub refuses more than 140 characters.
const maxText = 140

// who is on whose behalf notices are told.
type who struct{ host, fleet, branch, version string }

// body is a notice of the generic form. Its fields are documented in deploy/webhooks.md.
type body struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Event      string       `json:"event"` // revision or instance
	Host       string       `json:"host"`
	Fleet      string       `json:"fleet"`
	Branch     string       `json:"branch"`
	Revision   string       `json:"revision"`
	Instance   string       `json:"instance,omitempty"`
	State      notice.State `json:"state"`
	Message    string       `json:"message"`
	Time       time.Time    `json:"time"`
}

// request is what tells a target of a notice. The token and the secret are used, and not kept.
func (t Target) request(ctx context.Context, n notice.Notice, w who, token, secret string) (*http.Request, error) {
	base, err := url.Parse(t.URL)
	if err != nil {
		return nil, fmt.Errorf("the URL cannot be parsed") // the error would repeat it
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"gitvirt/" + w.version}}
	status := map[string]string{"state": string(n.State), "description": short(n.Text, maxText), "context": "gitvirt/" + w.host}
	if n.State == notice.Held {
		status["state"] = string(notice.Failure) // somebody has to do something
	}
	if t.TargetURL != "" {
		status["target_url"] = t.TargetURL
	}
	var payload any = status
	switch t.Provider {
	case GitHub: // REST API, "Create a commit status"
		base = base.JoinPath("repos", t.Repository, "statuses", n.Commit)
		header.Set("Authorization", "Bearer "+token)
		header.Set("Accept", "application/vnd.github+json")
		header.Set("X-GitHub-Api-Version", "2022-11-28")
	case Gitea: // API, repoCreateStatus
		base = base.JoinPath("api/v1/repos", t.Repository, "statuses", n.Commit)
		header.Set("Authorization", "token "+token)
	case GitLab: // Commits API, "Set commit pipeline status"; the project's path is one escaped segment
		base = base.JoinPath("api/v4/projects", url.PathEscape(t.Repository), "statuses", n.Commit)
		header.Set("Private-Token", token)
		if w.branch != "" {
			status["ref"] = w.branch // a commit of a tag need not be on a branch
		}
		status["state"] = map[string]string{"pending": "running", "failure": "failed"}[status["state"]]
		if n.State == notice.Success {
			status["state"] = "success"
		}
	case Generic:
		event := "revision"
		if n.Instance != "" {
			event = "instance"
		}
		payload = body{manifest.APIVersion, "Notice", event, w.host, w.fleet, w.branch, n.Commit, n.Instance, n.State, n.Text, n.Time.UTC()}
		if token != "" {
			header.Set("Authorization", "Bearer "+token)
		}
	}
	raw, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("cannot write the notice: %w", err)
	}
	if secret != "" {
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = mac.Write(raw) // a hash takes everything
		header.Set("X-Gitvirt-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, base.String(), bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("cannot write the notice: %w", err)
	}
	q.Header = header
	return q, nil
}

// short cuts a text to so many characters, in one line.
func short(text string, most int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		runes = append(runes[:most-1], '…')
	}
	return string(runes)
}
