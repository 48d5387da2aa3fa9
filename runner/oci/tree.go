package oci

import (
	"archive/tar"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	// maxEntries is how many files and folders an image may have: a large distribution has 200,000.
	maxEntries = 2_000_000
	maxLinks   = 40 // that are followed one after another, as Linux has it
)

// Names of whiteouts (the OCI image specification, layer.md): one that takes a name of the layers below away, and one
// that takes all away that is in its folder.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

// entry is a file of an image.
type entry struct {
	kind   byte   // tar's type; a hard link has become what it is a link to
	target string // a symbolic link's
	layer  int    // its number, from the top
	name   string // the name in the layer under which its content is
}

func (e entry) regular() bool { return e.kind == tar.TypeReg }

// tree is what the layers of an image show, as far as they have been read, from the top down.
type tree struct {
	entries map[string]entry
	hidden  map[string]bool // and what is below
	emptied map[string]bool // what is below only
}

func newTree() *tree {
	return &tree{entries: map[string]entry{}, hidden: map[string]bool{}, emptied: map[string]bool{}}
}

// clean is a name as the tree has it: without a slash at either end, and never leading out. The root is empty.
func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// layer is what one layer has.
type layer struct {
	number          int
	entries         map[string]entry
	hidden, emptied []string
}

// add notes one entry of the layer's archive. A later one of the same name replaces an earlier one.
func (l *layer) add(h *tar.Header) {
	name := clean(h.Name)
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	switch {
	case base == opaque:
		l.emptied = append(l.emptied, dir)
		return
	case strings.HasPrefix(base, whiteout):
		l.hidden = append(l.hidden, path.Join(dir, strings.TrimPrefix(base, whiteout)))
		return
	case name == "":
		return
	}
	e := entry{kind: h.Typeflag, layer: l.number, name: name}
	switch h.Typeflag {
	case tar.TypeGNUSparse:
		e.kind = tar.TypeReg
	case tar.TypeSymlink:
		e.target = h.Linkname
	case tar.TypeLink:
		target, there := l.entries[clean(h.Linkname)]
		if !there {
			// Into a layer below, which is not the rule: it is found by its name there.
			e.kind, e.target = tar.TypeSymlink, "/"+clean(h.Linkname)
			break
		}
		e = target
	}
	l.entries[name] = e
}

// under puts a layer below those that were read before: what they show, or take away, is not seen of it.
func (t *tree) under(l *layer) {
	for name := range l.entries {
		if t.hides(name) {
			delete(l.entries, name)
		}
	}
	maps.Copy(t.entries, l.entries)
	for _, name := range l.hidden {
		t.hidden[name] = true
	}
	for _, name := range l.emptied {
		t.emptied[name] = true
	}
}

// hides says whether an upper layer has the name, took it away, or has something else than a folder above it.
func (t *tree) hides(name string) bool {
	if _, there := t.entries[name]; there || t.hidden[name] {
		return true
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if dir == "." {
			dir = ""
		}
		if e, there := t.entries[dir]; t.hidden[dir] || t.emptied[dir] || there && e.kind != tar.TypeDir {
			return true
		}
		if dir == "" {
			return false
		}
	}
}

// find follows a path, and the links on it, to a regular file.
func (t *tree) find(name string) (entry, error) {
	asked, links := name, 0
	rest := strings.Split(clean(name), "/")
	at := ""
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "" {
				return entry{}, unusable("%s is a link that leads out of the image", asked)
			}
			at = strings.TrimPrefix(path.Dir("/"+at), "/")
			continue
		}
		at = path.Join(at, part)
		e, there := t.entries[at]
		switch {
		case there && e.kind == tar.TypeSymlink:
			if links++; links > maxLinks {
				return entry{}, unusable("%s is a link that never ends", asked)
			}
			rest = append(strings.Split(e.target, "/"), rest...)
			at = strings.TrimPrefix(path.Dir("/"+at), "/")
			if path.IsAbs(e.target) {
				at = ""
			}
		case there && e.regular() && len(rest) == 0:
			return e, nil
		case there && e.kind != tar.TypeDir:
			return entry{}, unusable("the image has %s, and it is no regular file", at)
		case !there && len(rest) == 0:
			return entry{}, unusable("the image has no file %s", at)
		}
	}
	return entry{}, unusable("%s is a folder of the image; name a file", asked)
}

// disks is the folder that a containerDisk has its disk in (KubeVirt's container disk).
const disks = "disk"

// onlyDisk is the only regular file below /disk. Links are not looked through: one that leads out of /disk is refused, and
// one that stays there names a file that is seen anyway.
func (t *tree) onlyDisk() (entry, error) {
	if e, there := t.entries[disks]; there && e.kind != tar.TypeDir {
		return entry{}, unusable("/disk of the image is no folder; it has to be one, with one disk in it")
	}
	var found []string
	for name, e := range t.entries {
		switch {
		case !strings.HasPrefix(name, disks+"/"):
		case e.regular():
			found = append(found, "/"+name)
		case e.kind == tar.TypeSymlink:
			to := path.Join("/", path.Dir(name), e.target)
			if path.IsAbs(e.target) {
				to = path.Clean(e.target)
			}
			if !strings.HasPrefix(to, "/"+disks+"/") {
				return entry{}, unusable("/%s is a link that leads out of /disk, to %s; put the disk itself there", name, e.target)
			}
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return entry{}, unusable("the image has no file below /disk: a containerDisk has its disk there; say path for another place")
	case 1:
		return t.entries[clean(found[0])], nil
	}
	const show = 10
	more := ""
	if len(found) > show {
		found, more = found[:show], " and more"
	}
	return entry{}, unusable("the image has several files below /disk, %q%s: say which with path", found, more)
}
