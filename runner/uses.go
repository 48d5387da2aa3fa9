package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/runner/image"
)

// maxChain bounds how many images are followed that lie on each other.
const maxChain = 200

// uses are what the domains of a host have.
type uses struct {
	paths   map[string][]string // who has a path, by it
	volumes map[string][]string // who has a volume, by POOL/NAME
	unread  []string
}

// usesOf reads all that domains name, in the XML of the next start and of the run that goes on. Any text that is a path
// counts: a kernel and a file that is shared are as much in use as a disk.
func usesOf(world plan.World) *uses {
	u := &uses{paths: map[string][]string{}, volumes: map[string][]string{}}
	for _, d := range world.Domains {
		who, read := "domain "+d.Name, 0
		for _, x := range []plan.XML{d.Inactive, d.Live} {
			text := x.Text()
			if text == "" {
				continue
			}
			e, err := domxml.Parse(text)
			if err != nil {
				read = 0
				break
			}
			u.collect(who, e)
			read++
		}
		if read == 0 || d.Stuck {
			u.unread = append(u.unread, who)
		}
	}
	return u
}

func (u *uses) collect(who string, e *domxml.Element) {
	add := func(to map[string][]string, key string) {
		if !slices.Contains(to[key], who) {
			to[key] = append(to[key], who)
		}
	}
	if pool, volume := e.Attr("pool"), e.Attr("volume"); pool != "" && volume != "" {
		add(u.volumes, pool+"/"+volume)
	}
	for _, a := range e.Attrs {
		if strings.HasPrefix(a.Value, "/") {
			add(u.paths, a.Value)
		}
	}
	if text := strings.TrimSpace(e.Text); strings.HasPrefix(text, "/") {
		add(u.paths, text)
	}
	for _, c := range e.Children {
		u.collect(who, c)
	}
}

// inode tells a file from others, whatever paths lead to it.
type inode struct{ device, number uint64 }

func inodeOf(path string) (inode, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return inode{}, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, false
	}
	if info.Mode()&os.ModeDevice != 0 {
		return inode{0, stat.Rdev}, true // one device may have several nodes
	}
	return inode{stat.Dev, stat.Ino}, true
}

// mark says of each volume who uses it. Below has what images lie on, as far as it is known.
func (u *uses) mark(volumes []plan.Stored, below map[string]string) {
	by := map[inode][]string{}
	use := func(path, who string) {
		if i, ok := inodeOf(path); ok && !slices.Contains(by[i], who) {
			by[i] = append(by[i], who)
		}
	}
	for path, all := range u.paths {
		for _, who := range all {
			use(path, who)
			follow(path, below, func(base string) { use(base, who) })
		}
	}
	for n := range volumes {
		v := &volumes[n]
		for _, who := range u.volumes[v.Pool+"/"+v.Name] {
			use(v.Path, who)
			follow(v.Path, below, func(base string) { use(base, who) })
		}
		if base := below[v.Path]; base != "" {
			use(base, "image "+v.Pool+"/"+v.Name)
		}
	}
	for n := range volumes {
		v := &volumes[n]
		v.UsedBy = slices.Clone(u.volumes[v.Pool+"/"+v.Name])
		if i, ok := inodeOf(v.Path); ok {
			v.UsedBy = append(v.UsedBy, by[i]...)
		}
		v.UsedBy = append(v.UsedBy, u.paths[v.Path]...)
		slices.Sort(v.UsedBy)
		v.UsedBy = slices.Compact(v.UsedBy)
	}
}

// follow goes down from an image to what it lies on.
func follow(path string, below map[string]string, found func(string)) {
	for range maxChain {
		base, known := below[path]
		if !known {
			var err error
			if base, err = image.Backing(path); err != nil {
				return // what cannot be read cannot be started either
			}
			if base != "" {
				below[path] = base
			}
		}
		if base == "" {
			return
		}
		if !filepath.IsAbs(base) { // QEMU's description of an image: json:{"file":{"filename":"/…"}}
			for _, part := range strings.Split(base, `"`) {
				if filepath.IsAbs(part) {
					found(part)
				}
			}
			return
		}
		found(base)
		path = base
	}
}
