package runner

import (
	"context"
	"encoding/xml"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
)

// Capabilities are what the host can run.
type Capabilities struct {
	// Arch is the host's architecture, as libvirt names it: x86_64, aarch64. It is empty with another driver than
	// QEMU's.
	Arch string
	// DomainType is the type that serves: kvm where libvirt offers it for the host's architecture, else qemu. With
	// another driver it is that one's, such as test.
	DomainType string
	// Emulator is the program that libvirt takes for a domain that says none.
	Emulator string
	// Libvirt is the daemon's version and Hypervisor is QEMU's, as in 9.0.0.
	Libvirt, Hypervisor string
}

// capabilitiesAge is how long an answer serves. Libvirt itself keeps what it found out about QEMU, but where QEMU's
// user may not open /dev/kvm it asks QEMU again at every call, which takes 30 to 40 s.
const capabilitiesAge = 10 * time.Minute

type capabilities struct {
	mu    sync.Mutex
	value Capabilities
	asked time.Time
}

func newCapabilities() *capabilities { return &capabilities{} }

// Capabilities asks libvirt what the host can run, or remembers what it said within the last ten minutes.
func (r *Runner) Capabilities(ctx context.Context) (Capabilities, error) {
	r.known.mu.Lock()
	value, asked := r.known.value, r.known.asked
	r.known.mu.Unlock()
	if !asked.IsZero() && time.Since(asked) < capabilitiesAge {
		return value, nil
	}
	value, err := call(ctx, r.reads, r.opts.Deadlines.Start, watcher{}, askCapabilities)
	if err != nil {
		return Capabilities{}, fmt.Errorf("cannot ask libvirt for its capabilities: %w", err)
	}
	r.known.mu.Lock()
	defer r.known.mu.Unlock()
	r.known.value, r.known.asked = value, time.Now()
	return value, nil
}

func askCapabilities(lv *libvirt.Libvirt) (Capabilities, error) {
	var c Capabilities
	// With nothing named, libvirt answers for the host's architecture and the best type that serves there.
	text, err := lv.ConnectGetDomainCapabilities(nil, nil, nil, nil, 0)
	switch {
	case code(err) == libvirt.ErrNoSupport: // not QEMU's driver: test:///default has one type, its own
		driver, err := lv.ConnectGetType()
		if err != nil {
			return c, err
		}
		c.DomainType = strings.ToLower(driver)
	case err != nil:
		return c, err
	default:
		if c, err = parseCapabilities(text); err != nil {
			return c, err
		}
	}
	version, err := lv.ConnectGetLibVersion()
	if err != nil {
		return c, err
	}
	c.Libvirt = versionName(version)
	if version, err = lv.ConnectGetVersion(); err != nil {
		return c, err
	}
	c.Hypervisor = versionName(version)
	return c, nil
}

// parseCapabilities reads libvirt's domain capabilities (https://libvirt.org/formatdomaincaps.html).
func parseCapabilities(text string) (Capabilities, error) {
	var doc struct {
		Arch   string `xml:"arch"`
		Domain string `xml:"domain"`
		Path   string `xml:"path"`
	}
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		return Capabilities{}, fmt.Errorf("cannot read libvirt's domain capabilities: %w", err)
	}
	if doc.Domain == "" {
		return Capabilities{}, fmt.Errorf("libvirt offers no type of domain for %s; is QEMU for it installed?", doc.Arch)
	}
	return Capabilities{Arch: doc.Arch, DomainType: doc.Domain, Emulator: doc.Path}, nil
}

// versionName writes libvirt's version numbers, major*1,000,000 + minor*1,000 + release.
func versionName(v uint64) string {
	return fmt.Sprintf("%d.%d.%d", v/1_000_000, v/1_000%1_000, v%1_000)
}
