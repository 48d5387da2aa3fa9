package image

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// seedLabel is what cloud-init looks for among the file systems (its NoCloud data source).
const seedLabel = "cidata"

const (
	sector = 2048
	// The places in the image, in sectors. The first 16 are for whoever boots from it.
	descriptorAt  = 16
	terminatorAt  = 17
	pathTableAt   = 18 // and one more, with the other byte order
	rootAt        = 20
	filesAt       = 21
	pathTableSize = 10 // one entry: the root
	maxSeedFiles  = 16 // their entries fit into one sector
	maxSeedName   = 28 // with the version behind it, ISO 9660 has 30
)

// seedImage is an ISO 9660 image (ECMA-119) with the files of a NoCloud seed in its root. The same files give the same
// bytes: all times are 1980. It is made here, in memory, because the files are secret, and the library for such images
// writes what goes into one to the disk first, where a kill would leave it; that took ten times as long, too.
//
// The names are as they are given, as mkisofs has them with -allow-lowercase and -relaxed-filenames: cloud-init wants
// "user-data", and the standard's own letters have no dash.
func seedImage(files map[string][]byte) ([]byte, error) {
	names := slices.Sorted(maps.Keys(files))
	if len(names) > maxSeedFiles {
		return nil, unusable("a seed has %d files, and %d fit", len(names), maxSeedFiles)
	}
	sectors := filesAt
	root := append(directoryEntry("\x00", rootAt, sector, true), directoryEntry("\x01", rootAt, sector, true)...)
	for _, name := range names {
		if name == "" || len(name) > maxSeedName || strings.ContainsAny(name, "/;\x00\x01") {
			return nil, unusable("%q is no name for a seed's file", name)
		}
		root = append(root, directoryEntry(name+";1", sectors, len(files[name]), false)...)
		sectors += (len(files[name]) + sector - 1) / sector
	}
	image := make([]byte, sectors*sector)
	at := func(n int) []byte { return image[n*sector:] }
	describe(at(descriptorAt)[:sector], sectors)
	copy(at(terminatorAt), "\xffCD001\x01")
	copy(at(pathTableAt), []byte{1, 0, rootAt, 0, 0, 0, 1, 0})
	copy(at(pathTableAt+1), []byte{1, 0, 0, 0, 0, rootAt, 0, 1})
	copy(at(rootAt), root)
	next := filesAt
	for _, name := range names {
		copy(at(next), files[name])
		next += (len(files[name]) + sector - 1) / sector
	}
	return image, nil
}

// describe writes the primary volume descriptor (ECMA-119, 8.4).
func describe(d []byte, sectors int) {
	copy(d, "\x01CD001\x01")
	text := func(from, to int, s string) {
		copy(d[from:to], s+strings.Repeat(" ", to-from))
	}
	text(8, 40, "LINUX")
	text(40, 72, seedLabel)
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
