package source

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoSecretIsTold uses each kind of secret, well and badly, and looks for it in all that the source leaves: log lines of
// every level, errors, what it says of itself, its files, the command lines of all processes and this one's environment.
func TestNoSecretIsTold(t *testing.T) {
	const secret = "Tr0ub4dor-and-3"
	r := newRepo(t)
	root := filepath.Dir(r.bare)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	backend := gitHTTP(t, root)
	// The servers repeat what they were told, as some do.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		user, pass, _ := req.BasicAuth()
		if pass != secret {
			w.Header().Set("WWW-Authenticate", `Basic realm="`+user+" "+pass+`"`)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, "no such user: %s %s", user, pass)
			return
		}
		req.Header.Del("Authorization")
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	front := httptest.NewServer(&proxy{to: address, secret: "me:" + secret})
	t.Cleanup(front.Close)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	d := startSSHD(t)
	key := filepath.Join(d.dir, "locked")
	keygen(t, "-q", "-t", "ed25519", "-N", "", "-f", key)
	pub, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	d.write("authorized", string(pub))
	lockKey(t, key, secret)

	good, pair, wrong := write("good", secret+"\n"), write("pair", "me:"+secret), write("wrong", secret+"x")
	known := d.knownHosts(d.host)
	for name, tt := range map[string]struct {
		url  string
		auth Auth
		ok   bool
	}{
		"token":             {server.URL + "/repo.git", Auth{TokenFile: good}, true},
		"user and password": {server.URL + "/repo.git", Auth{TokenFile: pair}, true},
		"wrong token":       {server.URL + "/repo.git", Auth{TokenFile: wrong}, false},
		"in the URL":        {"http://me:" + secret + "@" + address + "/repo.git", Auth{}, true},
		"wrong in the URL":  {"http://me:" + secret + "x@" + address + "/repo.git", Auth{}, false},
		"nobody there":      {"http://me:" + secret + "@" + gone.Addr().String() + "/repo.git", Auth{}, false},
		"no repository":     {"http://me:" + secret + "@" + address + "/none.git", Auth{}, false},
		"over no TLS":       {"https://me:" + secret + "@" + address + "/repo.git", Auth{}, false},
		"proxy":             {"http://" + address + "/repo.git", Auth{TokenFile: good, Proxy: front.URL, ProxyAuthFile: pair}, true},
		"wrong for proxy":   {"http://" + address + "/repo.git", Auth{TokenFile: good, Proxy: front.URL, ProxyAuthFile: write("w2", "me:x"+secret)}, false},
		"no such proxy":     {"http://" + address + "/repo.git", Auth{TokenFile: good, Proxy: "http://" + gone.Addr().String(), ProxyAuthFile: pair}, false},
		"passphrase":        {d.url(r.bare), Auth{SSHKeyFile: key, SSHKeyPassphraseFile: good, SSHKnownHostsFile: known, SSHAgentSocket: "/nonexistent"}, true},
		"wrong passphrase":  {d.url(r.bare), Auth{SSHKeyFile: key, SSHKeyPassphraseFile: wrong, SSHKnownHostsFile: known, SSHAgentSocket: "/nonexistent"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			log := slog.New(slog.NewJSONHandler(&told, &slog.HandlerOptions{Level: slog.LevelDebug - 10}))
			opt := Options{URL: tt.url, Auth: tt.auth, Logger: log, Dir: filepath.Join(t.TempDir(), "state"), ForcedPush: Hold}
			s := newSource(t, opt)
			say := func(v ...any) { fmt.Fprintln(&told, v...) }
			first := r.head()
			for round := range 3 {
				snap, err := s.Fetch(context.Background())
				if tt.ok && err != nil && round == 0 {
					t.Fatal(err)
				}
				if !tt.ok && err == nil {
					t.Error("it went well")
				}
				say(err, snap != nil)
				if round == 0 {
					r.write("web.yaml", name)
					r.commit("Change")
				} else {
					r.rewrite(first, name+"again")
				}
			}
			_, err := s.Fetch(context.Background())
			say(err)
			_, err = s.At(context.Background(), "main~9")
			say(err)
			held, err := json.Marshal(s.Held())
			say(string(held), err, s.URL(), s.at)
			_, err = Accept(opt.Dir, "0123456")
			say(err)
			s.store = nil // as if it broke
			s.Fetch(context.Background())
			filepath.WalkDir(opt.Dir, func(path string, e fs.DirEntry, err error) error {
				if err == nil && e.Type().IsRegular() {
					data, _ := os.ReadFile(path)
					say(path, string(data))
				}
				return nil
			})
			// Command lines are for everybody to see; the environment goes on to every program that is started.
			files, err := filepath.Glob("/proc/[0-9]*/cmdline")
			if err != nil || len(files) == 0 {
				t.Fatal("no process is seen", err)
			}
			for _, f := range append(files, "/proc/self/environ") {
				data, _ := os.ReadFile(f) // of one that has ended meanwhile
				if strings.Contains(string(data), secret) {
					t.Errorf("%s tells the secret", f)
				}
			}
			for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte("me:" + secret)), base64.StdEncoding.EncodeToString([]byte("git:" + secret))} {
				if at := strings.Index(told.String(), form); at >= 0 {
					t.Errorf("the secret is told: …%s…", told.String()[max(0, at-200):min(told.Len(), at+100)])
				}
			}
			if tt.ok && !strings.Contains(told.String(), "was rewritten") {
				t.Errorf("little was told, so that this test shows nothing:\n%.2000s", told.String())
			}
		})
	}
}
