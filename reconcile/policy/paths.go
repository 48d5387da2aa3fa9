package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
)

// Lexical resolves paths by their words alone: for a check where the host's files are not.
type Lexical struct{}

// Resolve is the path itself, cleaned.
func (Lexical) Resolve(p string) (string, error) { return path.Clean(p), nil }

// unclean says what is wrong with a path before it is looked at; empty when nothing is.
func unclean(p string) string {
	switch {
	case !strings.HasPrefix(p, "/"):
		return "is no absolute path"
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }):
		return "has control characters"
	case path.Clean(p) != strings.TrimSuffix(p, "/") && p != "/":
		return `has ".." or "." or "//" in it: say the path without`
	}
	return ""
}

// within says whether a path leads to one of the folders or files, or below; where it leads to when that is elsewhere.
func (c *checker) within(p string, folders []string) (ok bool, real string, err error) {
	c.ofHost = true
	real, err = c.files.Resolve(p)
	if err != nil {
		return false, "", err
	}
	for _, folder := range folders {
		if !strings.HasPrefix(folder, "/") {
			continue
		}
		to, err := c.files.Resolve(folder)
		if err == nil && (real == to || strings.HasPrefix(real, strings.TrimSuffix(to, "/")+"/")) {
			return true, real, nil
		}
	}
	return false, real, nil
}

// outside says why a path is not allowed; empty when it is.
func (c *checker) outside(p string, folders []string) string {
	if bad := unclean(p); bad != "" {
		return bad
	}
	ok, real, err := c.within(p, folders)
	switch {
	case ok:
		return ""
	case err != nil:
		return "cannot be followed on the host: " + err.Error()
	case real != path.Clean(p):
		return "leads to " + limit(real)
	}
	return "is a file of the host"
}

// hostPath judges a file of the host.
func (c *checker) hostPath(rule string, u use) {
	if bad := unclean(u.value); bad != "" {
		c.add(rule, u.at(), u.of, u.value, fmt.Sprintf("%s %s: nothing allows that", u, bad))
	} else if why := c.seed(u.value); why != "" {
		c.add(ruleSeed, u.at(), u.of, u.value, fmt.Sprintf("%s %s", u, why))
	} else if why := c.outside(u.value, c.policy.HostPaths); why != "" {
		c.add(rule, u.at(), u.of, u.value, fmt.Sprintf("%s %s; only what is below policy.hostPaths of the agent's file is allowed", u, why))
	}
}

// fetched says whether a file is one that gitvirt brings for the instance from an image.
func (c *checker) fetched(p string) bool {
	return c.hasVolume(func(v render.Volume) bool { return v.Kind == render.VolumeFetched && v.Path == p })
}

// volumes judges what is made for the machine, and what it needs of the host.
func (c *checker) volumes(list []render.Volume, name string, from int) {
	for n, v := range list {
		at := c.volumeField(v.Name, name, n+from)
		fail := func(rule, value, format string, args ...any) {
			c.found = append(c.found, Refusal{Rule: rule, Field: at, Value: value, Message: fmt.Sprintf("volume %s: ", v.Name) + fmt.Sprintf(format, args...)})
		}
		if v.Pool != "" && !matches(v.Pool, c.policy.Pools) {
			fail("pool", v.Pool, "the pool %s is not in policy.pools of the agent's file", limit(v.Pool))
		}
		for _, p := range []string{v.Path, v.Backing} {
			if p == "" || v.Fetch != nil || v.Kind == render.VolumeIgnition {
				continue
			}
			if why := c.seed(p); why != "" {
				fail(ruleSeed, p, "%s %s", limit(p), why)
			}
		}
		switch v.Kind {
		case render.VolumeFile, render.VolumeFolder:
			rule := "host-path"
			if v.Kind == render.VolumeFolder {
				rule = "filesystem"
			}
			if v.Kind == render.VolumeFile && v.ReadOnly {
				if why := c.outside(v.Path, slices.Concat(c.policy.Images, c.policy.HostPaths)); why != "" {
					fail(ruleImage, v.Path, "%s %s; only what is below policy.images or policy.hostPaths of the agent's file is allowed", limit(v.Path), why)
				}
			} else if why := c.outside(v.Path, c.policy.HostPaths); why != "" {
				fail(rule, v.Path, "%s %s; only what is below policy.hostPaths of the agent's file is allowed", limit(v.Path), why)
			}
		case render.VolumeDevice:
			if why := c.outside(v.Path, c.policy.HostPaths); why != "" && !c.hasDevice(v.Path) {
				fail("host-device", v.Path, "%s %s; only what is in policy.hostDevices or below policy.hostPaths of the agent's file is allowed", limit(v.Path), why)
			}
		}
		switch {
		case v.Fetch != nil:
			if why := c.fetch(*v.Fetch); why != "" {
				fail(ruleImage, v.Fetch.String(), "the image %s %s", limit(v.Fetch.String()), why)
			}
		case v.Backing != "":
			if why := c.outside(v.Backing, append(slices.Clone(c.policy.Images), c.policy.HostPaths...)); why != "" {
				fail(ruleImage, v.Backing, "its image %s %s; only what is below policy.images or policy.hostPaths of the agent's file is allowed", limit(v.Backing), why)
			}
		}
	}
}
