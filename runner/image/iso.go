package image

import (
	"encoding/binary"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	sector = 2048
	// The places in the image, in sectors. The first 16 are for whoever boots from it.
	descriptorAt = 16
	terminatorAt = 17
	pathTableAt  = 18 // and one more, with the other byte order
	rootAt       = 20 // and each further directory in the next
	maxSeedLabel = 32
	maxSeedName  = 28 // with the version behind it, ISO 9660 has 30
	maxSeedDepth = 8
	maxSeedDirs  = 32 // their path table fits into one sector
)

// seedDirectory is a directory of a seed's image.
type seedDirectory struct {
	path   string         // empty for the root
	parent int            // its number in the list
	at     int            // its sector
	dirs   map[string]int // the numbers of those in it, by name
}

// seedImage is an ISO 9660 image (ECMA-119) with the files of a cloud-init seed, by their paths in it; label is the
// volume's name. The same files give the same bytes: all times are 1980. It is made here, in memory, because the files
// are secret, and the library for such images writes what goes into one to the disk first, where a kill would leave it;
// that took ten times as long, too.
//
// The names are as they are given, as mkisofs has them with -allow-lowercase and -relaxed-filenames: cloud-init wants
// "user-data", and the standard's own letters have no dash.
func seedImage(label string, files map[string][]byte) ([]byte, error) {
	if label == "" || len(label) > maxSeedLabel || strings.ContainsFunc(label, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, unusable("%q is no label for a seed: it has 1 to %d letters, digits and dashes", label, maxSeedLabel)
	}
	dirs, err := seedTree(files)
	if err != nil {
		return nil, err
	}
	paths := slices.Sorted(maps.Keys(files))
	place := map[string]int{}
	next := rootAt + len(dirs)
	for _, file := range paths {
		place[file] = next
		next += (len(files[file]) + sector - 1) / sector
	}
	image := make([]byte, next*sector)
	at := func(n int) []byte { return image[n*sector:] }
	little, big := pathTables(dirs)
	copy(at(pathTableAt), little)
	copy(at(pathTableAt+1), big)
	describe(at(descriptorAt)[:sector], label, next, len(little))
	copy(at(terminatorAt), "\xffCD001\x01")
	for _, d := range dirs {
		content, err := d.records(dirs, place, files)
		if err != nil {
			return nil, err
		}
		copy(at(d.at), content)
	}
	for _, file := range paths {
		copy(at(place[file]), files[file])
	}
	return image, nil
}

// seedTree is the directories that the paths need, in the order of ISO 9660's path table: level by level, and by parent
// and name within one.
func seedTree(files map[string][]byte) ([]*seedDirectory, error) {
	found := map[string]bool{".": true}
	for file := range files {
		if !goodSeedPath(file) {
			return nil, unusable("%q is no name for a seed's file", file)
		}
		for dir := path.Dir(file); !found[dir]; dir = path.Dir(dir) {
			found[dir] = true
		}
	}
	if len(found) > maxSeedDirs {
		return nil, unusable("a seed has %d directories, and %d fit", len(found), maxSeedDirs)
	}
	root := &seedDirectory{at: rootAt, dirs: map[string]int{}}
	delete(found, ".")
	dirs := []*seedDirectory{root}
	for n := 0; n < len(dirs); n++ {
		for _, dir := range slices.Sorted(maps.Keys(found)) {
			if strings.TrimPrefix(path.Dir(dir), ".") != dirs[n].path {
				continue
			}
			if _, file := files[dir]; file {
				return nil, unusable("%q is a file and a directory of the seed", dir)
			}
			dirs[n].dirs[path.Base(dir)] = len(dirs)
			dirs = append(dirs, &seedDirectory{path: dir, parent: n, at: rootAt + len(dirs), dirs: map[string]int{}})
		}
	}
	return dirs, nil
}

func goodSeedPath(file string) bool {
	if file == "" || path.Clean(file) != file || path.IsAbs(file) || strings.Count(file, "/") >= maxSeedDepth {
		return false
	}
	for name := range strings.SplitSeq(file, "/") {
		if name == ".." || len(name) > maxSeedName || strings.ContainsAny(name, ";\x00\x01") {
			return false
		}
	}
	return file != "."
}

// records is the content of a directory: its entries, sorted.
func (d *seedDirectory) records(dirs []*seedDirectory, place map[string]int, files map[string][]byte) ([]byte, error) {
	content := append(directoryEntry("\x00", d.at, sector, true), directoryEntry("\x01", dirs[d.parent].at, sector, true)...)
	entries := map[string][]byte{}
	for name, n := range d.dirs {
		entries[name] = directoryEntry(name, dirs[n].at, sector, true)
	}
	for file, content := range files {
		if strings.TrimPrefix(path.Dir(file), ".") == d.path {
			name := path.Base(file)
			entries[name] = directoryEntry(name+";1", place[file], len(content), false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		content = append(content, entries[name]...)
	}
	if len(content) > sector {
		return nil, unusable("a seed has %d files in /%s, more than fit", len(entries), d.path)
	}
	return content, nil
}

// pathTables are the two path tables (ECMA-119, 9.4), in either byte order.
func pathTables(dirs []*seedDirectory) (little, big []byte) {
	for _, d := range dirs {
		name := path.Base(d.path)
		if d.path == "" {
			name = "\x00"
		}
		for _, table := range []struct {
			to    *[]byte
			order binary.AppendByteOrder
		}{{&little, binary.LittleEndian}, {&big, binary.BigEndian}} {
			e := append(*table.to, byte(len(name)), 0)
			e = table.order.AppendUint32(e, uint32(d.at))
			e = table.order.AppendUint16(e, uint16(d.parent+1))
			e = append(e, name...)
			if len(name)%2 == 1 {
				e = append(e, 0)
			}
			*table.to = e
		}
	}
	return little, big
}

// describe writes the primary volume descriptor (ECMA-119, 8.4).
func describe(d []byte, label string, sectors, pathTableSize int) {
	copy(d, "\x01CD001\x01")
	text := func(from, to int, s string) {
		copy(d[from:to], s+strings.Repeat(" ", to-from))
	}
	text(8, 40, "LINUX")
	text(40, 72, label)
	both32(d[80:], sectors)
	both16(d[120:], 1) // of how many volumes
	both16(d[124:], 1) // which
	both16(d[128:], sector)
	both32(d[132:], pathTableSize)
	binary.LittleEndian.PutUint32(d[140:], pathTableAt)
	binary.BigEndian.PutUint32(d[148:], pathTableAt+1)
	copy(d[156:190], directoryEntry("\x00", rootAt, sector, true))
	text(190, 813, "") // the set, who published and prepared it, by what, and files about that: unsaid
	for _, date := range []int{813, 830, 847, 864} {
		copy(d[date:], "0000000000000000\x00") // unsaid
	}
	d[881] = 1 // the version of this structure
}

// directoryEntry is a directory record (ECMA-119, 9.1).
func directoryEntry(name string, at, size int, directory bool) []byte {
	e := make([]byte, (33+len(name)+1)/2*2)
	e[0] = byte(len(e))
	both32(e[2:], at)
	both32(e[10:], size)
	copy(e[18:], []byte{80, 1, 1, 0, 0, 0, 0}) // the first of January 1980
	if directory {
		e[25] = 2
	}
	both16(e[28:], 1) // the volume
	e[32] = byte(len(name))
	copy(e[33:], name)
	return e
}

// both32 and both16 write a number twice, in either byte order, as ISO 9660 wants most of them.
func both32(b []byte, n int) {
	binary.LittleEndian.PutUint32(b, uint32(n))
	binary.BigEndian.PutUint32(b[4:], uint32(n))
}

func both16(b []byte, n int) {
	binary.LittleEndian.PutUint16(b, uint16(n))
	binary.BigEndian.PutUint16(b[2:], uint16(n))
}
