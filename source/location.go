package source

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
)

// location is a parsed repository URL.
type location struct {
	scheme string // file, http, https, ssh or git
	user   string
	pass   string
	host   string // without port and without brackets
	port   string // empty: the scheme's own
	path   string
}

// HasPassword reports whether a repository's URL holds a password, and says no where it cannot be parsed.
func HasPassword(repository string) bool {
	l, err := parseLocation(repository)
	return err == nil && l.pass != ""
}

// parseLocation reads the forms that git-fetch(1), GIT URLS, lists for these transports.
func parseLocation(s string) (location, error) {
	if i := strings.Index(s, "://"); i >= 0 {
		return parseURL(s)
	}
	if l, ok := parseSCP(s); ok {
		if strings.HasPrefix(l.host, "-") || l.host == "" || l.path == "" {
			return location{}, fmt.Errorf("repository %q has no host or no path: write host:path, or ./ before a path with a colon", s)
		}
		return l, nil
	}
	abs, err := filepath.Abs(s)
	if err != nil {
		return location{}, fmt.Errorf("cannot use repository path %q: %w", s, err)
	}
	return location{scheme: "file", path: abs}, nil
}

func parseURL(s string) (location, error) {
	u, err := url.Parse(s)
	if err != nil {
		// url.Error repeats the URL, which may hold a password.
		return location{}, fmt.Errorf("the repository's URL cannot be parsed: check its scheme, host and escapes")
	}
	l := location{scheme: strings.ToLower(u.Scheme), user: u.User.Username(), host: u.Hostname(), port: u.Port(), path: u.Path}
	l.pass, _ = u.User.Password()
	switch l.scheme {
	case "file":
		if l.host != "" && l.host != "localhost" {
			return location{}, fmt.Errorf("repository %s names a host: a file URL has three slashes, file:///path", u.Redacted())
		}
		if !filepath.IsAbs(l.path) {
			return location{}, fmt.Errorf("repository %s has no absolute path: write file:///path", u.Redacted())
		}
		l.path = filepath.Clean(l.path)
		return l, nil
	case "http", "https", "git":
	case "ssh":
		// As in git, /~user is the home of a user.
		if strings.HasPrefix(l.path, "/~") {
			l.path = l.path[1:]
		}
	default:
		return location{}, fmt.Errorf("repository %s has scheme %q: use a path, file://, https://, ssh://, host:path, http:// or git://", u.Redacted(), l.scheme)
	}
	if l.host == "" || strings.HasPrefix(l.host, "-") || strings.Trim(l.path, "/") == "" {
		return location{}, fmt.Errorf("repository %s has no host or no path: write %s://host/path", u.Redacted(), l.scheme)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return location{}, fmt.Errorf("repository %s has a query or a fragment: leave it out", u.Redacted())
	}
	return l, nil
}

// parseSCP reads [user@]host:path, where the colon comes before any slash.
func parseSCP(s string) (location, bool) {
	l := location{scheme: "ssh"}
	rest := s
	if at := strings.IndexAny(rest, "@:/"); at >= 0 && rest[at] == '@' {
		l.user, rest = rest[:at], rest[at+1:]
	}
	if strings.HasPrefix(rest, "[") {
		// [::1]:path, and [host:port]:path as git reads it.
		inner, after, ok := strings.Cut(rest[1:], "]:")
		if !ok {
			return l, false
		}
		l.host, l.path = inner, after
		if strings.Count(inner, ":") == 1 {
			l.host, l.port, _ = strings.Cut(inner, ":")
		}
		return l, true
	}
	colon := strings.IndexAny(rest, ":/")
	if colon < 0 || rest[colon] != ':' {
		return l, false
	}
	l.host, l.path = rest[:colon], rest[colon+1:]
	return l, true
}

// local reports whether the repository is on this machine's disk.
func (l location) local() bool { return l.scheme == "file" }

// String is the location without its secrets.
func (l location) String() string {
	if l.local() {
		return l.path
	}
	u := url.URL{Scheme: l.scheme, Host: l.host, Path: "/" + strings.TrimPrefix(l.path, "/")}
	if strings.Contains(l.host, ":") {
		u.Host = "[" + l.host + "]"
	}
	if l.port != "" {
		u.Host = net.JoinHostPort(l.host, l.port)
	}
	if l.user != "" && l.scheme == "ssh" {
		u.User = url.User(l.user)
	}
	return u.String()
}

// loopback reports whether the host is this machine.
func (l location) loopback() bool {
	ip := net.ParseIP(l.host)
	return l.host == "localhost" || ip != nil && ip.IsLoopback()
}
