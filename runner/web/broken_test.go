package web_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
)

// TestCut cuts the connection at many places, again and again: each try goes on where the one before was cut, whoever makes
// it, and what is put in place is whole.
func TestCut(t *testing.T) {
	t.Parallel()
	content := noise(300_001)
	for _, piece := range []int{1, 4095, 65_536, 100_000, 300_000} {
		t.Run(fmt.Sprint(piece), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			src := source(s.put("/it", content, `"one"`), content)
			to := filepath.Join(t.TempDir(), "a", "disk")
			s.with(cutAt(content, piece))
			tries := 0
			for ; tries < 5; tries++ {
				err := fetch(t, fetcher(t, download.Options{}), src, to) // by an agent that was begun anew
				if err == nil {
					break
				}
				if errors.Is(err, image.ErrUnusable) {
					t.Fatalf("try %d gives %v", tries, err)
				}
				if got := read(t, to+".part"); !bytes.HasPrefix(content, got) || len(got) != min(len(content), piece*(tries+1)) {
					t.Fatalf("after try %d there are %d bytes", tries, len(got))
				}
			}
			s.with(nil)
			if err := fetch(t, fetcher(t, download.Options{}), src, to); err != nil || !bytes.Equal(read(t, to), content) {
				t.Fatalf("at last it gives %v", err)
			}
			if got := s.asked(); tries == 5 && (len(got) != 1 || got[0] != fmt.Sprintf("bytes=%d-", piece*5)) {
				t.Errorf("asked for were %q", got)
			}
			if all := names(t, filepath.Dir(to)); all != "disk disk.digest" {
				t.Errorf("there are %s", all)
			}
		})
	}
}

// TestServers: what servers do between two tries. Whatever it is, only the whole of the right image is put in place, and
// within the tries that are given.
func TestServers(t *testing.T) {
	t.Parallel()
	content := noise(200_000)
	other := append(bytes.Clone(content[:199_999]), 'x')
	type answer = func(http.ResponseWriter, *http.Request) bool
	for name, test := range map[string]struct {
		first  answer // cut at the half unless it is said
		now    []byte // what is served then
		etag   string
		second answer
		spoil  bool // what was kept is overwritten meanwhile
		whole  bool // the second try takes the whole
		err    string
		bad    bool // which is the image's fault
	}{
		"goes on":            {},
		"changed between":    {now: content, etag: `"two"`, whole: true},
		"changed to another": {now: other, etag: `"two"`, whole: true, err: "is not what it must be", bad: true},
		"spoilt on the disk": {spoil: true, whole: true},
		"no ranges": {whole: true, second: func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = w.Write(content)
			return true
		}},
		"another range": {whole: true, second: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.Header().Set("Content-Range", "bytes 5-199999/200000")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(content[5:])
			return true
		}},
		"no such range": {whole: true, second: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return true
		}},
		"another file in the range": {whole: true, now: content, etag: `"two"`, second: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.Header().Set("Content-Range", "bytes 100000-199999/200000")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(other[100_000:])
			return true
		}},
		"the same name for another": {whole: true, second: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.Header().Set("Content-Range", "bytes 100000-199999/200000")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(bytes.Repeat([]byte{1}, 100_000))
			return true
		}},
		"says less than it has": {first: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(content[:1000])
			return true
		}, whole: true, err: "-"},
		"says more than it has": {first: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "200001")
			_, _ = w.Write(content)
			panic(http.ErrAbortHandler)
		}, whole: true},
		"says no length": {first: func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write(content[:100_000])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}},
		"not there any more":  {second: status(http.StatusNotFound), err: "404 Not Found"},
		"not for everybody":   {second: status(http.StatusForbidden), err: "403 Forbidden: say secretRef"},
		"broken":              {second: status(http.StatusInternalServerError), err: "500 Internal"},
		"says nothing of it":  {first: withoutValidator(content), whole: true},
		"of a weak validator": {first: weak(content), whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			src := source(s.put("/it", content, `"one"`), content)
			to := filepath.Join(t.TempDir(), "a", "disk")
			if test.first == nil {
				test.first = cutAt(content, 100_000)
			}
			s.with(test.first)
			f := fetcher(t, download.Options{})
			if err := fetch(t, f, src, to); err == nil || test.err != "-" && errors.Is(err, image.ErrUnusable) {
				t.Fatalf("the first try gives %v", err)
			}
			if test.err == "-" { // a server that says what it has is believed
				test.err = ""
				f = fetcher(t, download.Options{})
			}
			if test.now != nil {
				s.put("/it", test.now, test.etag)
			}
			if test.spoil {
				overwrite(t, to+".part")
			}
			s.with(test.second)
			err := fetch(t, f, src, to)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || errors.Is(err, image.ErrUnusable) != test.bad {
					t.Errorf("it gives %v", err)
				}
				if got := names(t, filepath.Dir(to)); strings.Contains(got+" ", "disk ") {
					t.Errorf("there are %s", got)
				}
				return
			}
			if err != nil || !bytes.Equal(read(t, to), content) {
				t.Fatalf("it gives %v", err)
			}
			if sent := s.sent.Load(); test.second == nil && test.whole != (sent >= 200_000) {
				t.Errorf("%d bytes were sent", sent)
			}
		})
	}
}

func status(code int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		return true
	}
}

func withoutValidator(content []byte) func(http.ResponseWriter, *http.Request) bool {
	cut := cutAt(content, 100_000)
	return func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Del("ETag")
		return cut(w, r)
	}
}

func weak(content []byte) func(http.ResponseWriter, *http.Request) bool {
	cut := cutAt(content, 100_000)
	return func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("ETag", `W/"one"`)
		return cut(w, r)
	}
}

// TestWrongChecksum: an image that is not what the document says is refused, and not fetched again before the server has
// another.
func TestWrongChecksum(t *testing.T) {
	t.Parallel()
	content := noise(8 * mib)
	s := newSite(t)
	src := source(s.put("/it", append([]byte("x"), content...), `"one"`), content)
	to := filepath.Join(t.TempDir(), "a", "disk")
	f := fetcher(t, download.Options{})
	first := fetch(t, f, src, to)
	if !errors.Is(first, image.ErrUnusable) || !strings.Contains(first.Error(), "the document says "+digest(content)) {
		t.Fatalf("it gives %v", first)
	}
	if size := len(read(t, to+".part")); size > 0 {
		t.Errorf("%d bytes of it are kept", size)
	}
	s.with(nil)
	if err := fetch(t, f, src, to); err == nil || err.Error() != first.Error() || s.sent.Load() > 6*mib {
		t.Errorf("again it gives %v, after %d bytes", err, s.sent.Load())
	}
	s.put("/it", content, `"two"`)
	if err := fetch(t, f, src, to); err != nil || !bytes.Equal(read(t, to), content) {
		t.Errorf("mended it gives %v", err)
	}
}

// TestRedirects are followed to public addresses and to those that are named, and not for ever.
func TestRedirects(t *testing.T) {
	t.Parallel()
	content := []byte("an image")
	elsewhere := newSite(t)
	elsewhere.put("/it", content, `"one"`)
	s := newSite(t)
	for path, to := range map[string]string{
		"/here": s.put("/it", content, `"one"`), "/there": elsewhere.URL + "/it", "/ring": s.URL + "/ring",
		"/link": "http://169.254.169.254/latest/meta-data", "/file": "file:///etc/shadow", "/user": strings.Replace(elsewhere.URL, "//", "//me:geheim@", 1) + "/it",
	} {
		s.put(path, []byte(to), `"one"`)
	}
	s.with(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/it" {
			return false
		}
		http.Redirect(w, r, string(s.files[r.URL.Path]), http.StatusFound)
		return true
	})
	place, err := url.Parse(elsewhere.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path  string
		named bool
		err   string
	}{
		{"/here", false, ""}, {"/there", false, "not public"}, {"/there", true, ""}, {"/ring", true, "more than 5 redirects"},
		{"/link", false, "not public"}, {"/link", true, "this host's own link"}, {"/file", true, "unsupported protocol"}, {"/user", false, "not public"},
	} {
		named := func(at string) bool {
			return test.named && (strings.HasPrefix(at, place.Host+"/it") || test.path == "/link")
		}
		err := fetch(t, fetcher(t, download.Options{Named: named}), source(s.URL+test.path, content), filepath.Join(t.TempDir(), "a", "disk"))
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) || strings.Contains(fmt.Sprint(err), "geheim") {
			t.Errorf("%s (named: %v) gives %v", test.path, test.named, err)
		}
	}
}

// stalling is a server that sends a part of a file, and then nothing until it is let go.
func stalling(t *testing.T, content []byte) (s *site, halted chan struct{}, letGo func()) {
	s = newSite(t)
	halted, release := make(chan struct{}, 2000), make(chan struct{})
	s.with(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") != "" {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:len(content)/2])
		_ = http.NewResponseController(w).Flush()
		halted <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = w.Write(content[len(content)/2:])
		return true
	})
	letGo = sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	return s, halted, letGo
}

// TestStall gives up on a server that sends nothing any more, and goes on from there.
func TestStall(t *testing.T) {
	t.Parallel()
	content := noise(200_000)
	s, _, _ := stalling(t, content)
	src := source(s.put("/it", content, `"one"`), content)
	to := filepath.Join(t.TempDir(), "a", "disk")
	f := fetcher(t, download.Options{Patience: 200 * time.Millisecond})
	err := fetch(t, f, src, to)
	if err == nil || errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), "nothing has moved for 200ms, after 100000 bytes") {
		t.Errorf("it gives %v", err)
	}
	if err := fetch(t, f, src, to); err != nil || !bytes.Equal(read(t, to), content) {
		t.Errorf("then it gives %v", err)
	}
	// One that takes the connection and never answers.
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	err = fetch(t, f, source("http://"+deaf.Addr().String()+"/it", content), to+"2")
	if err == nil || !strings.Contains(err.Error(), "nothing has moved for 200ms, after 0 bytes") {
		t.Errorf("a deaf one gives %v", err)
	}
}

// TestThousand wait for one image: it is fetched once, and who waits for it and how far it is can be seen.
func TestThousand(t *testing.T) {
	t.Parallel()
	content := noise(200_000)
	s, halted, letGo := stalling(t, content)
	src := source(s.put("/it", content, `"one"`), content)
	to := filepath.Join(t.TempDir(), "a", "disk")
	f := fetcher(t, download.Options{})
	var all sync.WaitGroup
	for n := range 1000 {
		all.Go(func() {
			if _, err := f.Fetch(t.Context(), src, to, fmt.Sprint("vm", n)); err != nil {
				t.Error(err)
			}
		})
	}
	<-halted
	for {
		states := f.States()
		if len(states) != 1 {
			t.Fatalf("there are %d", len(states))
		}
		if st := states[0]; len(st.Users) == 1000 && st.Received == 100_000 {
			if st.Total != 200_000 || st.Waiting || st.From.URL != src.URL {
				t.Errorf("it is %+v", st)
			}
			break
		}
		time.Sleep(time.Millisecond)
	}
	letGo()
	all.Wait()
	if n := s.gets.Load(); n != 1 || len(f.States()) != 0 {
		t.Errorf("it was fetched %d times; %v", n, f.States())
	}
}

// TestBandwidth is shared by all.
func TestBandwidth(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	content := noise(mib)
	src := source(s.put("/it", content, `"one"`), content)
	f := fetcher(t, download.Options{Bandwidth: 4 * mib})
	begun := time.Now()
	var all sync.WaitGroup
	dir := t.TempDir()
	for n := range 2 {
		all.Go(func() {
			if err := fetch(t, f, src, filepath.Join(dir, fmt.Sprint(n), "disk")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	// Two of a MiB at four a second.
	if took := time.Since(begun); took < 400*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}

// TestLogin is told to the image's server, and to no other; it is in no error and no log.
func TestLogin(t *testing.T) {
	t.Parallel()
	content := []byte("an image")
	var told []string
	check := func(w http.ResponseWriter, r *http.Request) bool {
		_, password, _ := r.BasicAuth()
		told = append(told, r.URL.Path+" "+password)
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, "http://localhost:"+strings.Split(r.Host, ":")[1]+"/it", http.StatusFound)
		case r.URL.Path == "/closed" && password != "geheim":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			return false
		}
		return true
	}
	s := newSite(t)
	for _, path := range []string{"/it", "/away", "/closed"} {
		s.put(path, content, `"one"`)
	}
	s.with(check)
	var log bytes.Buffer
	f := fetcher(t, download.Options{Named: func(string) bool { return true }, Logger: newLog(&log)})
	for n, path := range []string{"/closed", "/away"} {
		src := source(s.URL+path, content)
		if n == 0 {
			if err := fetch(t, f, src, filepath.Join(t.TempDir(), "a", "disk")); err == nil || !strings.Contains(err.Error(), "401 Unauthorized: say secretRef") {
				t.Errorf("without a password it gives %v", err)
			}
		}
		src.Login = newLogin("me", "geheim")
		if err := fetch(t, f, src, filepath.Join(t.TempDir(), "a", "disk")); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := fmt.Sprint(told); got != "[/closed  /closed geheim /away geheim /it ]" {
		t.Errorf("told were %s", got)
	}
	src := source("http://files.example/it", content)
	src.Login = newLogin("me", "geheim")
	err := fetch(t, f, src, filepath.Join(t.TempDir(), "a", "disk"))
	if !errors.Is(err, image.ErrUnusable) || !strings.Contains(err.Error(), "say https") || strings.Contains(err.Error()+log.String(), "geheim") {
		t.Errorf("without TLS it gives %v\n%s", err, &log)
	}
}

func newLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
