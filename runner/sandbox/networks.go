package sandbox

import (
	"os"
	"path/filepath"
)

// networkIsolations are the ways to have a system daemon of one's own: its network, its processes and its mounts are nobody
// else's. Root keeps its user, because dnsmasq changes to another one; anybody else becomes root of a user namespace.
func networkIsolations(euid int) []isolation {
	apart := []string{"--net", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"}
	if euid != 0 {
		apart = append([]string{"--user", "--map-root-user"}, apart...)
	}
	return []isolation{{unshare: apart, ownPIDs: true}}
}

// folders are those of a system daemon, by the names of what stands in their places.
func folders() map[string]string {
	return map[string]string{"etc": "/etc/libvirt", "lib": "/var/lib/libvirt", "cache": "/var/cache/libvirt", "log": "/var/log/libvirt", "run": "/run"}
}

// private is the folder that the daemon sees in place of the system's.
func (l layout) private(name string) string { return filepath.Join(l.dir, "p", name) }

// programs has what the daemon runs in place of the system's.
func (l layout) programs() string { return filepath.Join(l.dir, "b") }

func (l layout) uri() string {
	if l.networks {
		return "qemu+unix:///system"
	}
	return "qemu+unix:///session"
}

// privileged are the lines of qemu.conf that let a system daemon do without the system: its users, its cgroups and its
// security modules.
func privileged() []string {
	return []string{`user = "root"`, `group = "root"`, "dynamic_ownership = 0", "remember_owner = 0", `security_driver = "none"`,
		"cgroup_controllers = []", "namespaces = []"}
}

// foreground is dnsmasq for those who cannot change their user, as root of a user namespace cannot: only when it stays in the
// foreground does it not try to. Libvirt waits for it to go into the background, and reads its process from a file.
const foreground = `#!/bin/bash
for word; do case $word in --version|--help|--test) exec /usr/sbin/dnsmasq "$@" ;; --conf-file=*) conf=${word#*=} ;; esac; done
setsid /usr/sbin/dnsmasq --no-daemon --log-facility=/dev/null "$@" </dev/null >/dev/null 2>&1 &
sleep 0.2
kill -0 $! && echo $! >"$(sed -n 's/^pid-file=//p' "$conf")"
`

// writeNetworks makes what a system daemon of one's own needs beside the rest.
func (l layout) writeNetworks() error {
	for name := range folders() {
		if err := os.MkdirAll(l.private(name), 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(l.programs(), 0o755); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(l.programs(), "dnsmasq"), []byte(foreground), 0o755)
}
