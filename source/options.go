package source

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Defaults of the options that are left at zero.
const (
	DefaultBranch  = "main"
	DefaultTimeout = 10 * time.Minute
	// DefaultCompactAfter is the number of objects that git itself lets lie loose before it packs them (gc.auto,
	// git-config(1)), less a margin, because go-git opens a file for each.
	DefaultCompactAfter = 5000
)

// Options say which branch of which repository is followed, and how.
type Options struct {
	// URL is a local path, file:///path, http(s)://host/path, ssh://[user@]host[:port]/path, [user@]host:path or
	// git://host[:port]/path. The SSH user is git when the URL names none. With git:// and http:// nobody knows who
	// answers: they are for networks where that is known otherwise.
	URL string
	// Branch is followed; DefaultBranch when empty.
	Branch string
	// Tags are followed instead of Branch when they have a pattern.
	Tags Tags
	// Verify says which signatures a revision must carry; none when it is zero.
	Verify Verify
	// Accepted is the commit that VerifyAll begins after as long as this source has accepted none; the newest commit
	// alone is verified when it is empty.
	Accepted string
	// Path is the folder in the repository that holds the documents; the whole repository when empty or ".".
	Path string
	// Dir belongs to the source alone: it holds the store and is made when missing.
	Dir string
	// ForcedPush says what becomes of a branch whose history was rewritten; Follow when empty.
	ForcedPush ForcedPush
	// Auth is what the remote is shown, and what it is recognised by.
	Auth Auth
	// Logger hears what needed mending. Nothing is logged when nil.
	Logger *slog.Logger
	// Timeout bounds one call of Fetch, Load or At; DefaultTimeout when zero. Asking for the branch's head is
	// bounded by 30 s in any case.
	Timeout time.Duration
	// CompactAfter is the number of loose objects past which the store is written afresh;
	// DefaultCompactAfter when zero.
	CompactAfter int
}

// Auth names the files that authenticate us to the remote and the remote to us. They are read at every use, so that
// they can be replaced while the agent runs.
type Auth struct {
	// SSHKeyFile holds a private key. Without it, and beside it, the keys of the agent at SSHAgentSocket are used.
	SSHKeyFile string
	// SSHKeyPassphraseFile holds the passphrase of SSHKeyFile, if that has one.
	SSHKeyPassphraseFile string
	// SSHKnownHostsFile pins the hosts' keys (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT); one host may have several, and
	// its name may be hashed; @cert-authority and @revoked count. It is required for SSH: an unknown key is never
	// trusted.
	SSHKnownHostsFile string
	// SSHAgentSocket is the path of ssh-agent's socket; the value of SSH_AUTH_SOCK when empty.
	SSHAgentSocket string
	// TokenFile holds an HTTPS token, or user:password. It is refused for http://, except on this machine.
	TokenFile string
	// CAFile holds PEM certificates that are trusted for HTTPS beside the system's.
	CAFile string
	// Proxy is the URL of a proxy for HTTP and HTTPS: http://, https:// or socks5://host:port. When empty the
	// environment says which (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), and this machine's own servers need none.
	Proxy string
	// ProxyAuthFile holds user:password for the proxy.
	ProxyAuthFile string
}

func (o Options) withDefaults() (Options, error) {
	if o.URL == "" {
		return o, errors.New("no repository is given: set the repository's URL or path")
	}
	if o.Dir == "" {
		return o, errors.New("no folder for the store is given: set the state directory")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("cannot use %s for the store: %w", o.Dir, err)
	}
	o.Dir = dir
	if o.Branch == "" {
		o.Branch = DefaultBranch
	}
	o.Branch = strings.TrimPrefix(o.Branch, "refs/heads/")
	if err := plumbing.NewBranchReferenceName(o.Branch).Validate(); err != nil {
		return o, fmt.Errorf("branch %q is not a name that git accepts (git-check-ref-format): %w", o.Branch, err)
	}
	if o.Path, err = cleanPath(o.Path); err != nil {
		return o, err
	}
	if o.ForcedPush == "" {
		o.ForcedPush = Follow
	}
	if o.ForcedPush != Follow && o.ForcedPush != Hold {
		return o, fmt.Errorf("forcedPush %q: say %s or %s", o.ForcedPush, Follow, Hold)
	}
	if err := o.Verify.Validate(); err != nil {
		return o, err
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.CompactAfter == 0 {
		o.CompactAfter = DefaultCompactAfter
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Auth.SSHAgentSocket == "" {
		o.Auth.SSHAgentSocket = os.Getenv("SSH_AUTH_SOCK")
	}
	return o, nil
}

// cleanPath returns the path without "." and slashes at its ends; empty means the whole repository.
func cleanPath(p string) (string, error) {
	clean := path.Clean("/" + p)[1:]
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", fmt.Errorf("path %q leaves the repository: name a folder inside it", p)
		}
	}
	return clean, nil
}
