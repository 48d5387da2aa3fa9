package sandbox

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxDir is the longest path of a sandbox's directory, in bytes. A UNIX socket's name ends at 107, and libvirt makes
// c/libvirt/qemu/lib/domain-ID-NAME/monitor.sock with up to 20 bytes of the domain's name; this leaves 5 digits for ID.
const maxDir = 41

// layout is where things lie in a sandbox's directory. The names are short for maxDir's reason.
type layout struct {
	dir string
	// networks says that the daemon is a system daemon in a network namespace.
	networks bool
}

func (l layout) home() string          { return filepath.Join(l.dir, "h") }
func (l layout) runtimeHome() string   { return filepath.Join(l.dir, "r") }
func (l layout) configHome() string    { return filepath.Join(l.dir, "c") }
func (l layout) cacheHome() string     { return filepath.Join(l.dir, "k") }
func (l layout) sockets() string       { return filepath.Join(l.dir, "s") }
func (l layout) socket() string        { return filepath.Join(l.sockets(), "libvirt-sock") }
func (l layout) log() string           { return filepath.Join(l.dir, "log") }
func (l layout) pool() string          { return filepath.Join(l.dir, "pool") }
func (l layout) libvirtConfig() string { return filepath.Join(l.configHome(), "libvirt") }

// newLayout makes a directory below parent and writes libvirt's configuration into it.
func newLayout(opts Options) (layout, error) {
	parent := opts.TempDir
	if parent == "" {
		parent = os.TempDir()
	}
	dir, err := os.MkdirTemp(parent, "gv")
	if err != nil {
		return layout{}, fmt.Errorf("cannot make the sandbox's directory: %w", err)
	}
	l := layout{dir: dir, networks: opts.Networks}
	if err := l.write(opts); err != nil {
		os.RemoveAll(dir)
		return layout{}, fmt.Errorf("cannot prepare the sandbox's directory %s: %w", dir, err)
	}
	return l, nil
}

func (l layout) write(opts Options) error {
	if len(l.dir) > maxDir {
		return fmt.Errorf("its path has %d bytes and may have %d, or the UNIX sockets below it would not fit; "+
			"name a shorter folder in TMPDIR", len(l.dir), maxDir)
	}
	if l.networks {
		if err := l.writeNetworks(); err != nil {
			return err
		}
	}
	for _, dir := range []string{l.home(), l.runtimeHome(), l.cacheHome(), l.sockets(), l.libvirtConfig()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := writeLines(filepath.Join(l.dir, "libvirtd.conf"), l.daemonConfig(), opts.DaemonConfig); err != nil {
		return err
	}
	// Without virtlogd, which would be one more daemon to own.
	qemu := []string{`stdio_handler = "file"`}
	conf := filepath.Join(l.libvirtConfig(), "qemu.conf")
	if l.networks {
		qemu, conf = append(qemu, privileged()...), filepath.Join(l.private("etc"), "qemu.conf")
	}
	if err := writeLines(conf, qemu, opts.QEMUConfig); err != nil {
		return err
	}
	if opts.CapabilityCache != "" {
		if err := l.linkCapabilities(opts.CapabilityCache); err != nil {
			return err
		}
	}
	if opts.DefaultPool {
		return l.definePool("default")
	}
	return nil
}

func (l layout) daemonConfig() []string {
	return []string{
		fmt.Sprintf("unix_sock_dir = %q", l.sockets()),
		`auth_unix_rw = "none"`,
		fmt.Sprintf(`log_outputs = "3:file:%s"`, l.log()),
		fmt.Sprintf("host_uuid = %q", newUUID()), // else libvirt complains of hosts whose firmware has no good one
	}
}

// environment is all that the supervisor, the daemon and its QEMUs get of one. There is no message bus in it, so that
// the daemon asks nothing of the system's services.
func (l layout) environment() []string {
	noBus := "unix:path=" + filepath.Join(l.dir, "no-bus")
	path := searchPath()
	if l.networks {
		path = l.programs() + string(os.PathListSeparator) + path
	}
	return []string{
		"PATH=" + path,
		"HOME=" + l.home(),
		"LC_ALL=C.UTF-8",
		"XDG_RUNTIME_DIR=" + l.runtimeHome(),
		"XDG_CONFIG_HOME=" + l.configHome(),
		"XDG_CACHE_HOME=" + l.cacheHome(),
		"XDG_DATA_HOME=" + l.home(),
		"DBUS_SYSTEM_BUS_ADDRESS=" + noBus,
		"DBUS_SESSION_BUS_ADDRESS=" + noBus,
	}
}

// linkCapabilities makes the daemon keep what it finds out about QEMU's binaries in a folder that outlives the
// sandbox. Libvirt itself checks that an entry still fits the binary, the kernel and the CPU, and replaces it whole.
func (l layout) linkCapabilities(shared string) error {
	shared, err := filepath.Abs(shared)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(shared, 0o700); err != nil {
		return err
	}
	parent := filepath.Join(l.cacheHome(), "libvirt", "qemu", "cache")
	if l.networks {
		parent = filepath.Join(l.private("cache"), "qemu")
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	return os.Symlink(shared, filepath.Join(parent, "capabilities"))
}

// definePool writes an autostarted directory pool where the daemon reads its pools when it starts.
func (l layout) definePool(name string) error {
	config := filepath.Join(l.libvirtConfig(), "storage")
	if l.networks {
		config = filepath.Join(l.private("etc"), "storage")
	}
	for _, dir := range []string{l.pool(), filepath.Join(config, "autostart")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	xml := fmt.Sprintf("<pool type='dir'><name>%s</name><uuid>%s</uuid><target><path>%s</path></target></pool>",
		name, newUUID(), l.pool())
	file := filepath.Join(config, name+".xml")
	if err := writeLines(file, []string{xml}); err != nil {
		return err
	}
	return os.Symlink(file, filepath.Join(config, "autostart", name+".xml"))
}

func writeLines(file string, groups ...[]string) error {
	var text strings.Builder
	for _, lines := range groups {
		for _, line := range lines {
			text.WriteString(line + "\n")
		}
	}
	return os.WriteFile(file, []byte(text.String()), 0o600)
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the program instead
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// searchPath is the PATH with the folders of system programs, which an ordinary user's PATH may lack.
func searchPath() string {
	path := os.Getenv("PATH")
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"} {
		path = strings.TrimPrefix(path+string(os.PathListSeparator)+dir, string(os.PathListSeparator))
	}
	return path
}
