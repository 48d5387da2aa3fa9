package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseLocation(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		in   string
		want location
	}{
		{"/srv/repo.git", location{scheme: "file", path: "/srv/repo.git"}},
		{"repo", location{scheme: "file", path: filepath.Join(wd, "repo")}},
		{"./host:repo", location{scheme: "file", path: filepath.Join(wd, "host:repo")}},
		{"/a@b:c", location{scheme: "file", path: "/a@b:c"}},
		{"file:///srv/a%20b/", location{scheme: "file", path: "/srv/a b"}},
		{"file://localhost/srv", location{scheme: "file", host: "localhost", path: "/srv"}},
		{"https://example.org/x.git", location{scheme: "https", host: "example.org", path: "/x.git"}},
		{"HTTP://me:pw@example.org:8080/x", location{scheme: "http", user: "me", pass: "pw", host: "example.org", port: "8080", path: "/x"}},
		{"ssh://git@example.org/x.git", location{scheme: "ssh", user: "git", host: "example.org", path: "/x.git"}},
		{"ssh://[::1]:2222/~me/x", location{scheme: "ssh", host: "::1", port: "2222", path: "~me/x"}},
		{"git@example.org:team/x.git", location{scheme: "ssh", user: "git", host: "example.org", path: "team/x.git"}},
		{"example.org:/abs/x.git", location{scheme: "ssh", host: "example.org", path: "/abs/x.git"}},
		{"git@[::1]:x", location{scheme: "ssh", user: "git", host: "::1", path: "x"}},
		{"[example.org:2222]:x", location{scheme: "ssh", host: "example.org", port: "2222", path: "x"}},
		{"git://example.org:9419/x.git", location{scheme: "git", host: "example.org", port: "9419", path: "/x.git"}},
		{"host:a@b", location{scheme: "ssh", host: "host", path: "a@b"}},
	} {
		got, err := parseLocation(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("%s:\n%+v, %v\nwant %+v", tt.in, got, err, tt.want)
		}
	}
	for in, want := range map[string]string{
		"svn://example.org/x":                 `scheme "svn"`,
		"git://example.org":                   "no host or no path",
		"ftp://me:secret@example.org/x":       `scheme "ftp"`,
		"file://server/x":                     "names a host",
		"https://example.org":                 "no host or no path",
		"https://example.org/x?token=1":       "query",
		"ssh://-oProxyCommand=x/y":            "no host or no path",
		"-oProxyCommand=x:y":                  "no host or no path",
		"host:":                               "no host or no path",
		"https://me:secret@exa mple.org/x":    "cannot be parsed",
		"https://me:secret@example.org:no/x":  "cannot be parsed",
		"https://me:secret@example.org/%zz/x": "cannot be parsed",
	} {
		_, err := parseLocation(in)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		opt  Options
		want string
	}{
		"no URL":               {Options{Dir: dir}, "no repository is given"},
		"no folder":            {Options{URL: "/x"}, "no folder for the store"},
		"bad branch":           {Options{URL: "/x", Dir: dir, Branch: "a..b"}, "not a name that git accepts"},
		"branch out of refs":   {Options{URL: "/x", Dir: dir, Branch: "../../config"}, "not a name that git accepts"},
		"path leaves":          {Options{URL: "/x", Dir: dir, Path: "a/../../b"}, "leaves the repository"},
		"no known hosts":       {Options{URL: "git@h:x", Dir: dir, Auth: Auth{SSHKeyFile: "k"}}, "sshKnownHostsFile"},
		"password over SSH":    {Options{URL: "ssh://a:hush@h/x", Dir: dir, Auth: Auth{SSHKeyFile: "k", SSHKnownHostsFile: "f"}}, "holds a password"},
		"token over plain web": {Options{URL: "http://example.org/x", Dir: dir, Auth: Auth{TokenFile: "f"}}, "unencrypted"},
	} {
		_, err := New(tt.opt)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	t.Setenv("SSH_AUTH_SOCK", "")
	if _, err := New(Options{URL: "git@h:x", Dir: dir, Auth: Auth{SSHKnownHostsFile: "f"}}); err == nil || !strings.Contains(err.Error(), "no SSH key") {
		t.Errorf("no key: %v", err)
	}
	for in, want := range map[string]string{"": "", ".": "", "/": "", "./a/": "a", "a//b/./c": "a/b/c"} {
		if got, err := cleanPath(in); err != nil || got != want {
			t.Errorf("path %q: %q, %v, want %q", in, got, err, want)
		}
	}
}

// FuzzParseLocation: nothing that parses shows its password.
func FuzzParseLocation(f *testing.F) {
	for _, s := range []string{"git@h:x", "https://u:p@h/x", "ssh://[::1]:1/~x", "[a:1]:b", "@:", "file:///", "a:b@c/d", "://"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := parseLocation(s)
		if err != nil {
			return
		}
		if l.scheme != "file" && (l.host == "" || l.path == "" || strings.HasPrefix(l.host, "-")) {
			t.Errorf("%q: %+v", s, l)
		}
		if l.pass != "" && !strings.Contains(strings.Replace(s, ":"+l.pass+"@", "", 1), l.pass) && strings.Contains(l.String(), l.pass) {
			t.Errorf("%q shows its password: %s", s, l)
		}
	})
}
