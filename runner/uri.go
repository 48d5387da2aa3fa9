package runner

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/digitalocean/go-libvirt"
)

// endpoint is what a URI says about libvirt's daemon.
type endpoint struct {
	socket string
	driver libvirt.ConnectURI // what the daemon is asked for
	// configDir and stateDir are where the daemon keeps its domains' XML; empty where that is not known.
	configDir, stateDir string
}

// parseURI reads libvirt's connection URI (https://libvirt.org/uri.html), driver[+transport]://[host][/path][?extra],
// as far as it leads to a daemon on this host.
func parseURI(text string, getenv func(string) string) (endpoint, error) {
	wrong := func(format string, args ...any) (endpoint, error) {
		return endpoint{}, fmt.Errorf("cannot use the libvirt URI %q: %w", text, fmt.Errorf(format, args...))
	}
	if text == "" {
		return wrong("it is empty; say qemu:///system")
	}
	u, err := url.Parse(text)
	if err != nil {
		return wrong("%w", err)
	}
	driver, transport, explicit := strings.Cut(u.Scheme, "+")
	switch {
	case explicit && transport != "unix":
		return wrong("the transport %q leads to another host; an agent works on its own, so say unix or nothing", transport)
	case u.Host != "" || u.User != nil:
		return wrong("it names the host %q; an agent works on its own, as in %s:///system", u.Host, driver)
	case driver == "" || u.Opaque != "" || u.Path == "":
		return wrong("it is not of the form driver:///path, as in qemu:///system")
	}
	for key := range u.Query() {
		// mode says which daemon to look for: the one of each driver, or libvirtd. The socket decides that here.
		if key != "socket" && key != "mode" && key != "name" {
			return wrong("the parameter %q is not known; socket, mode and name are", key)
		}
	}
	e := endpoint{socket: u.Query().Get("socket"), driver: libvirt.ConnectURI(driver + "://" + u.Path)}
	if name := u.Query().Get("name"); name != "" {
		e.driver = libvirt.ConnectURI(name)
	}
	session := u.Path == "/session"
	if e.socket != "" {
		if !filepath.IsAbs(e.socket) {
			return wrong("the socket %q is no absolute path", e.socket)
		}
		// The daemon behind a socket of its own may have folders of its own.
		return e, nil
	}
	if !session {
		e.socket = "/var/run/libvirt/libvirt-sock"
		if driver == "qemu" && u.Path == "/system" {
			e.configDir, e.stateDir = "/etc/libvirt/qemu", "/run/libvirt/qemu"
		}
		return e, nil
	}
	run, config, err := sessionDirs(getenv)
	if err != nil {
		return wrong("%w", err)
	}
	e.socket = filepath.Join(run, "libvirt-sock")
	if driver == "qemu" {
		e.configDir, e.stateDir = filepath.Join(config, "qemu"), filepath.Join(run, "qemu", "run")
	}
	return e, nil
}

// sessionDirs are where a user's libvirt keeps its sockets and status, and its configuration, by the XDG base directory
// rules.
func sessionDirs(getenv func(string) string) (run, config string, err error) {
	home := getenv("HOME")
	under := func(variable, inHome string) (string, error) {
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "libvirt"), nil
		}
		if home == "" {
			return "", fmt.Errorf("a user's libvirt is found by %s or HOME, and neither is set", variable)
		}
		return filepath.Join(home, inHome, "libvirt"), nil
	}
	if run, err = under("XDG_RUNTIME_DIR", ".cache"); err != nil {
		return "", "", err
	}
	config, err = under("XDG_CONFIG_HOME", ".config")
	return run, config, err
}

// resolve is the endpoint that options name.
func (o Options) resolve() (endpoint, error) {
	e, err := parseURI(o.URI, os.Getenv)
	if err != nil {
		return e, err
	}
	if o.ConfigDir != "" {
		e.configDir = o.ConfigDir
	}
	if o.StateDir != "" {
		e.stateDir = o.StateDir
	}
	return e, nil
}
