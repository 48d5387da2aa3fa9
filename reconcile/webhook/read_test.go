package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const (
	known   = "a secret of the old days"
	newer   = "a secret that comes after it"
	signing = signingPrefix + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=" // 0123456789abcdef, twice
)

func secrets(t testing.TB, lines ...string) Secrets {
	t.Helper()
	s, err := ParseSecrets([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func digest(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func header(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// forms are how each provider says what it says, signed with a secret that is known.
func forms() map[string]struct {
	header http.Header
	body   string
	want   Push
} {
	type form = struct {
		header http.Header
		body   string
		want   Push
	}
	moved := func(p Provider, refs ...string) Push { return Push{Provider: p, Kind: Moved, Refs: refs} }
	all := map[string]form{}
	add := func(name, body string, want Push, sign func(http.Header, string), pairs ...string) {
		h := header(pairs...)
		sign(h, body)
		all[name] = form{h, body, want}
	}
	hub256 := func(h http.Header, body string) { h.Set("X-Hub-Signature-256", "sha256="+digest(known, body)) }
	hub := func(h http.Header, body string) { h.Set("X-Hub-Signature", "sha256="+digest(newer, body)) }
	bare := func(name string) func(http.Header, string) {
		return func(h http.Header, body string) { h.Set(name, digest(known, body)) }
	}
	token := func(h http.Header, _ string) { h.Set("X-Gitlab-Token", newer) }
	standard := func(h http.Header, body string) {
		h.Set("Webhook-Id", "one")
		h.Set("Webhook-Timestamp", "1700000000")
		sum, _ := hex.DecodeString(digest("0123456789abcdef0123456789abcdef", "one.1700000000."+body))
		h.Set("Webhook-Signature", "v1,AAAA v1,"+base64.StdEncoding.EncodeToString(sum))
	}

	add("github push", `{"ref": "refs/heads/main", "before": "1", "after": "2", "repository": {"full_name": "a/b"}}`,
		moved(GitHub, "refs/heads/main"), hub256, "X-GitHub-Event", "push")
	add("github tag", `{"ref": "refs/tags/v1"}`, moved(GitHub, "refs/tags/v1"), hub256, "X-GitHub-Event", "push")
	add("github deletion", `{"ref": "refs/heads/old", "deleted": true, "after": "0000000000000000000000000000000000000000"}`,
		moved(GitHub, "refs/heads/old"), hub256, "X-GitHub-Event", "push")
	add("github form", "payload="+url.QueryEscape(`{"ref": "refs/heads/a+b%"}`), moved(GitHub, "refs/heads/a+b%"), hub256,
		"X-GitHub-Event", "push", "Content-Type", "application/x-www-form-urlencoded")
	add("github ping", `{"zen": "", "hook_id": 1}`, Push{Provider: GitHub, Kind: Ping}, hub256, "X-GitHub-Event", "ping")
	add("github star", `{"action": "created"}`, Push{Provider: GitHub}, hub256, "X-GitHub-Event", "star")

	add("gitlab push", `{"object_kind": "push", "ref": "refs/heads/main"}`, moved(GitLab, "refs/heads/main"), token, "X-Gitlab-Event", "Push Hook")
	add("gitlab signed", `{"object_kind": "push", "ref": "refs/heads/main"}`, moved(GitLab, "refs/heads/main"), standard, "X-Gitlab-Event", "Push Hook")
	add("gitlab tag", `{"object_kind": "tag_push", "ref": "refs/tags/v1"}`, moved(GitLab, "refs/tags/v1"), token, "X-Gitlab-Event", "Tag Push Hook")
	add("gitlab system push", `{"event_name": "push", "ref": "refs/heads/main"}`, moved(GitLab, "refs/heads/main"), token, "X-Gitlab-Event", "System Hook")
	add("gitlab many refs", `{"event_name": "repository_update", "changes": [{"ref": "refs/heads/a"}], "refs": ["refs/heads/a", "refs/heads/b"]}`,
		moved(GitLab, "refs/heads/a", "refs/heads/b"), token, "X-Gitlab-Event", "System Hook")
	add("gitlab system other", `{"event_name": "user_create"}`, Push{Provider: GitLab}, token, "X-Gitlab-Event", "System Hook")
	add("gitlab issue", `{"object_kind": "issue"}`, Push{Provider: GitLab}, token, "X-Gitlab-Event", "Issue Hook")

	// These send the headers of those that they are like, too.
	likeGitHub := []string{"X-GitHub-Event", "push", "X-Gogs-Event", "push"}
	add("gitea push", `{"ref": "refs/heads/main"}`, moved(Gitea, "refs/heads/main"), bare("X-Gitea-Signature"), append(likeGitHub, "X-Gitea-Event", "push")...)
	add("gitea deletion", `{"ref": "old", "ref_type": "branch"}`, moved(Gitea, "refs/heads/old"), bare("X-Gitea-Signature"), "X-Gitea-Event", "delete")
	add("gitea tag deletion", `{"ref": "v1", "ref_type": "tag"}`, moved(Gitea, "refs/tags/v1"), hub256, "X-Gitea-Event", "delete")
	add("forgejo push", `{"ref": "refs/heads/main"}`, moved(Forgejo, "refs/heads/main"), bare("X-Forgejo-Signature"),
		append(likeGitHub, "X-Gitea-Event", "push", "X-Forgejo-Event", "push")...)

	add("bitbucket cloud", `{"push": {"changes": [
		{"new": {"type": "branch", "name": "main"}, "old": {"type": "branch", "name": "main"}},
		{"new": null, "old": {"type": "branch", "name": "gone"}},
		{"new": {"type": "tag", "name": "v1"}, "old": null}]}}`,
		moved(Bitbucket, "refs/heads/main", "refs/heads/main", "refs/heads/gone", "refs/tags/v1"), hub, "X-Event-Key", "repo:push")
	add("bitbucket data center", `{"eventKey": "repo:refs_changed", "changes": [
		{"ref": {"id": "refs/heads/main", "displayId": "main", "type": "BRANCH"}, "refId": "refs/heads/main", "type": "UPDATE"},
		{"ref": {"id": "refs/heads/gone", "displayId": "gone", "type": "BRANCH"}, "refId": "refs/heads/gone", "type": "DELETE"}]}`,
		moved(Bitbucket, "refs/heads/main", "refs/heads/gone"), hub, "X-Event-Key", "repo:refs_changed")
	add("bitbucket mirror", `{"refLimitExceeded": true, "changes": []}`, Push{Provider: Bitbucket, Kind: Moved, Any: true}, hub, "X-Event-Key", "mirror:repo_synchronized")
	add("bitbucket ping", `{"test": true}`, Push{Provider: Bitbucket, Kind: Ping}, hub, "X-Event-Key", "diagnostics:ping")
	add("bitbucket pull request", `{"pullrequest": {}}`, Push{Provider: Bitbucket}, hub, "X-Event-Key", "pullrequest:created")

	ours := func(h http.Header, body string) { h.Set("X-Gitvirt-Signature", "sha256="+digest(known, body)) }
	bearer := func(h http.Header, _ string) { h.Set("Authorization", "bearer "+known) }
	any := Push{Provider: Generic, Kind: Moved, Any: true}
	add("generic signed", `{"ref": "refs/heads/main", "repository": "a/b"}`, moved(Generic, "refs/heads/main"), ours)
	add("generic short name", `{"ref": "feature/x"}`, moved(Generic, "refs/heads/feature/x"), bearer)
	add("generic empty object", `{}`, any, bearer)
	add("generic empty", "", any, bearer, "Content-Type", "")
	add("generic empty, signed", "", any, ours)
	return all
}

func TestEveryProvidersForm(t *testing.T) {
	s := secrets(t, known, "", "  "+newer+"\r", signing)
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			got, err := Read(f.header, strings.NewReader(f.body), s)
			if err != nil || got.Provider != f.want.Provider || got.Kind != f.want.Kind || got.Any != f.want.Any || !slices.Equal(got.Refs, f.want.Refs) {
				t.Errorf("read %+v, %v; want %+v", got, err, f.want)
			}
		})
	}
}

// TestNothingIsBelievedWithoutProof takes what every provider sends right, and spoils the proof.
func TestNothingIsBelievedWithoutProof(t *testing.T) {
	s := secrets(t, known, newer, signing)
	proofs := []string{"X-Hub-Signature-256", "X-Hub-Signature", "X-Gitea-Signature", "X-Forgejo-Signature", "X-Gitvirt-Signature",
		"X-Gitlab-Token", "Authorization", "Webhook-Signature"}
	for name, f := range forms() {
		for what, spoil := range map[string]func(h http.Header, body string) (http.Header, string){
			"another secret": func(h http.Header, body string) (http.Header, string) { return h, body },
			"no proof": func(h http.Header, body string) (http.Header, string) {
				for _, p := range proofs {
					h.Del(p)
				}
				return h, body
			},
			"an empty proof": func(h http.Header, body string) (http.Header, string) {
				for _, p := range proofs {
					h.Set(p, "")
				}
				return h, body
			},
			"half a proof": func(h http.Header, body string) (http.Header, string) {
				for _, p := range proofs {
					h.Set(p, h.Get(p)[:len(h.Get(p))/2])
				}
				return h, body
			},
			"one digit changed": func(h http.Header, body string) (http.Header, string) {
				for _, p := range proofs {
					if v := []byte(h.Get(p)); len(v) > 0 {
						v[len(v)-3] ^= 1
						h.Set(p, string(v))
					}
				}
				return h, body
			},
			"another body": func(h http.Header, body string) (http.Header, string) {
				h.Del("X-Gitlab-Token") // a token says nothing of the body
				h.Del("Authorization")
				return h, body + " "
			},
			"another id": func(h http.Header, body string) (http.Header, string) {
				h.Set("Webhook-Id", "two")
				if h.Get("Webhook-Signature") == "" {
					h.Set("X-Gitlab-Token", "x")
					h.Set("Authorization", "x")
					body += " "
				}
				return h, body
			},
			"a SHA-1": func(h http.Header, body string) (http.Header, string) {
				for _, p := range proofs {
					h.Del(p)
				}
				h.Set("X-Hub-Signature", "sha1="+strings.Repeat("0", 40))
				return h, body
			},
		} {
			with := s
			if what == "another secret" {
				with = secrets(t, "one that nobody else knows")
			}
			h, body := spoil(maps.Clone(f.header), f.body)
			if got, err := Read(h, strings.NewReader(body), with); !errors.Is(err, ErrRefused) || got.Kind != Other || got.Refs != nil || got.Any {
				t.Errorf("%s, %s: read %+v, %v; want that it is refused", name, what, got, err)
			}
		}
	}
}

// TestWithoutAnyProofTheBodyIsNotRead: a stranger does not get to have 25 MiB hashed.
func TestWithoutAnyProofTheBodyIsNotRead(t *testing.T) {
	for _, h := range []http.Header{header(), header("X-Hub-Signature-256", "sha256=00"), header("X-Gitlab-Token", "guessed"), header("Webhook-Signature", "v1,AAAA")} {
		body := strings.NewReader("{}")
		if _, err := Read(h, body, secrets(t, known)); !errors.Is(err, ErrRefused) || body.Len() != 2 {
			t.Errorf("%v: %v, and %d bytes were left", h, err, body.Len())
		}
	}
}

func TestWhatCannotBeUnderstood(t *testing.T) {
	s := secrets(t, known)
	for _, tt := range []struct {
		name, event, contentType, body string
		want                           error
		says                           string
	}{
		{"no JSON", "push", "application/json", `ref`, ErrMalformed, "it is not the JSON of this event"},
		{"another type of ref", "push", "application/json", `{"ref": 1}`, ErrMalformed, "it is not the JSON"},
		{"no ref", "push", "application/json", `{}`, ErrMalformed, "names no ref"},
		{"nothing", "push", "application/json", ``, ErrMalformed, "it is not the JSON"},
		{"two documents", "push", "application/json", `{"ref": "a"} {}`, ErrMalformed, "it is not the JSON"},
		{"XML", "push", "application/xml", `<ref/>`, ErrType, "say Content-Type: application/json"},
		{"no type", "push", "", `{"ref": "a"}`, ErrType, "say Content-Type"},
		{"JSON sent as a form", "push", "application/x-www-form-urlencoded", `{"ref": "a"}`, ErrMalformed, "if the body is JSON"},
		{"a bad escape", "push", "application/x-www-form-urlencoded", `payload=%zz`, ErrMalformed, "not escaped"},
		{"deep", "push", "application/json", strings.Repeat("[", 100_000), ErrMalformed, "it is not the JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := header("X-GitHub-Event", tt.event, "Content-Type", tt.contentType, "X-Hub-Signature-256", "sha256="+digest(known, tt.body))
			_, err := Read(h, strings.NewReader(tt.body), s)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %v with %q", err, tt.want, tt.says)
			}
		})
	}
}

// TestLongBodies: all of a body is hashed, little of it is kept, and what is too long is refused.
func TestLongBodies(t *testing.T) {
	s := secrets(t, known)
	for _, tt := range []struct {
		name, contentType string
		size              int
		want              error
		any               bool
	}{
		{"short", "application/json", 0, nil, false},
		{"just kept", "application/json", kept, nil, false},
		{"longer", "application/json", kept + 1, nil, true},
		{"longer, as a form", "application/x-www-form-urlencoded", kept + 1, nil, true},
		{"longest", "application/json", MaxBody, nil, true},
		{"too long", "application/json", MaxBody + 1, ErrTooLong, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"ref": "refs/heads/main"}`
			if tt.contentType != "application/json" {
				body = "payload=" + url.QueryEscape(body)
			}
			if n := tt.size - len(body); n > 0 && tt.contentType == "application/json" {
				body += strings.Repeat(" ", n)
			} else if n > 0 {
				body += strings.Repeat("%20", n/3+1)
			}
			h := header("X-GitHub-Event", "push", "Content-Type", tt.contentType, "X-Hub-Signature-256", "sha256="+digest(known, body))
			p, err := Read(h, strings.NewReader(body), s)
			if !errors.Is(err, tt.want) || p.Any != tt.any {
				t.Errorf("read %+v, %v; want any=%v, %v", p, err, tt.any, tt.want)
			}
			if tt.want == nil && !p.Concerns(func(ref string) bool { return ref == "refs/heads/main" }) {
				t.Errorf("%+v does not concern the branch", p)
			}
		})
	}
}

func TestABodyThatBreaksOff(t *testing.T) {
	h := header("X-GitHub-Event", "push", "X-Hub-Signature-256", "sha256="+digest(known, "{}"))
	_, err := Read(h, io.MultiReader(strings.NewReader("{"), broken{}), secrets(t, known))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestSecretFiles(t *testing.T) {
	for _, tt := range []struct{ name, text, says string }{
		{"one", "0123456789abcdef\n", ""},
		{"space and empty lines", "\n  0123456789abcdef \r\n\n", ""},
		{"eight", strings.Repeat("0123456789abcdef\n", 8), ""},
		{"a signing token", signing, ""},
		{"nothing", "", "there is no secret in it"},
		{"only space", " \n\t\n", "there is no secret in it"},
		{"too short", "0123456789abcdef\nhunter2\n", "line 2: a secret has 16 characters or more, and this has 7"},
		{"nine", strings.Repeat("0123456789abcdef\n", 9), "there are 9 secrets in it, and 8 is the limit"},
		{"a broken signing token", "whsec_not base64 at all", "line 1: a signing token is whsec_"},
		{"a short signing token", "whsec_c2hvcnQtc2hvcnQ=", "line 1: a signing token is whsec_"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseSecrets([]byte(tt.text))
			switch {
			case tt.says == "" && err != nil:
				t.Error(err)
			case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("error %v, want %q", err, tt.says)
			case err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "not base64 at")):
				t.Errorf("the error repeats the secret: %v", err)
			}
		})
	}
}

// FuzzRead wants no panic, no belief without proof, and no memory that grows with the body.
func FuzzRead(f *testing.F) {
	for _, form := range forms() {
		for _, name := range []string{"X-GitHub-Event", "X-Gitlab-Event", "X-Gitea-Event", "X-Forgejo-Event", "X-Event-Key", "X-Other"} {
			f.Add(name, form.header.Get(name), form.header.Get("Content-Type"), form.header.Get("Webhook-Signature"), []byte(form.body))
		}
	}
	s := secrets(f, known, signing)
	f.Fuzz(func(t *testing.T, name, event, contentType, proof string, body []byte) {
		h := http.Header{"Content-Type": {contentType}}
		h.Set(name, event)
		h.Set("Webhook-Signature", proof)
		h.Set("X-Hub-Signature-256", proof)
		if !strings.Contains(event, known) { // as a token, it would be right
			if p, err := Read(h, strings.NewReader(string(body)), s); !errors.Is(err, ErrRefused) || p.Kind != Other {
				t.Fatalf("without proof: %+v, %v", p, err)
			}
		}
		h.Set("X-Hub-Signature-256", "sha256="+digest(known, string(body)))
		p, err := Read(h, strings.NewReader(string(body)), s)
		if errors.Is(err, ErrRefused) {
			t.Fatalf("with proof: %v", err)
		}
		if err == nil && p.Kind == Moved && !p.Any && (len(p.Refs) == 0 || slices.Contains(p.Refs, "")) {
			t.Fatalf("a push of nothing: %+v", p)
		}
		if err != nil && len(body) > 20 && strings.Contains(err.Error(), string(body)) {
			t.Fatalf("the error repeats the body: %v", err)
		}
	})
}

func FuzzSecrets(f *testing.F) {
	f.Add([]byte(known + "\n" + signing))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSecrets(data)
		if (err == nil) != (len(s.all) > 0) {
			t.Fatalf("%d secrets, %v", len(s.all), err)
		}
		for _, one := range s.all {
			if len(one.text) < minSecret || one.signing != nil && len(one.signing) < minSecret {
				t.Fatalf("a secret of %d bytes, with a key of %d", len(one.text), len(one.signing))
			}
		}
	})
}
