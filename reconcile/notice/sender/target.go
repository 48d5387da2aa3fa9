package sender

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Provider is whose form notices have.
type Provider string

// The providers, as the agent's file names them.
const (
	GitHub  Provider = "GitHub"
	GitLab  Provider = "GitLab"
	Gitea   Provider = "Gitea" // and Forgejo
	Generic Provider = "Generic"
)

// Target is somebody who is told.
type Target struct {
	Provider Provider
	// URL is that of the host's API for GitHub (https://HOST/api/v3 of an Enterprise server), of the host itself for GitLab
	// and Gitea, and the address that is posted to for Generic.
	URL string
	// Repository is owner/name; for GitLab a project's path or number. Generic has none.
	Repository string
	// TokenFile holds the token, in one line; optional for Generic.
	TokenFile string
	// SecretFile holds the key of Generic's signature, in one line; optional.
	SecretFile string
	// CAFile has the certificates that the host's may be signed by, in PEM, instead of the system's; optional.
	CAFile string
	// TargetURL is the link of a commit status; optional.
	TargetURL string
}

var (
	ownerAndName = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)
	project      = regexp.MustCompile(`^([0-9]+|[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+)$`)
)

// Validate says everything that is wrong with a target.
func (t Target) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	commits := t.Provider != Generic
	switch t.Provider {
	case GitHub, Gitea:
		if !ownerAndName.MatchString(t.Repository) || dots(t.Repository) {
			bad("repository %q: say owner/name", t.Repository)
		}
	case GitLab:
		if !project.MatchString(t.Repository) || dots(t.Repository) {
			bad("repository %q: say the project's path, as in group/name, or its number", t.Repository)
		}
	case Generic:
		if t.Repository != "" {
			bad("repository: Generic has none; leave it out")
		}
		if t.TargetURL != "" {
			bad("targetURL: Generic has none; leave it out")
		}
	default:
		bad("provider %q: say GitHub, GitLab, Gitea (for Forgejo, too) or Generic", string(t.Provider))
		return errors.Join(errs...)
	}
	if commits && t.TokenFile == "" {
		bad("tokenFile: %s wants a token that may set commit statuses: name the file that holds it", t.Provider)
	}
	if commits && t.SecretFile != "" {
		bad("secretFile: that is for Generic; %s wants tokenFile", t.Provider)
	}
	if err := t.validateURL(); err != nil {
		errs = append(errs, err)
	}
	if t.TargetURL != "" {
		if u, err := url.Parse(t.TargetURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			bad("targetURL: say a whole URL, as in https://HOST/path")
		}
	}
	return errors.Join(errs...)
}

// validateURL does not repeat a URL, which may hold a password.
func (t Target) validateURL() error {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("url: say a whole URL, as in https://HOST/path")
	case u.User != nil:
		return errors.New("url: take the user and password out, and put the token into tokenFile")
	case u.Fragment != "" || t.Provider != Generic && u.RawQuery != "":
		return errors.New("url: take out what stands after ? or #")
	case u.Scheme == "http" && t.TokenFile != "" && !local(u.Hostname()):
		return fmt.Errorf("url: the token would travel unencrypted to %s: say https", u.Host)
	}
	return nil
}

// dots says whether a part of a path would lead elsewhere.
func dots(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.Trim(part, ".") == "" {
			return true
		}
	}
	return false
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// key names a target among what was said. A generic URL may be a secret, so it is not in it.
func (t Target) key() string {
	sum := sha256.Sum256([]byte(strings.TrimRight(t.URL, "/") + " " + t.Repository))
	return string(t.Provider) + " " + hex.EncodeToString(sum[:8])
}
