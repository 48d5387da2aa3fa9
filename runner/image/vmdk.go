package image

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const formatVMDK = "vmdk"

// What begins a VMware disk: one with its data in itself, an older one of that kind, and a text that names others (the Virtual
// Disk Format specification, "Hosted Sparse Extents" and "The Disk Descriptor").
const (
	vmdkMagic  = "KDMV"
	cowdMagic  = "COWD"
	descriptor = "# Disk DescriptorFile"
)

// vmdkHead is how many bytes of a VMware disk are looked at: qemu-img reads the name of a parent from the 20 sectors behind the
// first, wherever the header says that the descriptor is.
const vmdkHead = 64 << 10

// Content says what is in a file that comes from elsewhere, by its first bytes: qcow2, vmdk or, as anything else is, raw. It
// refuses an image that names other files: those names are of files of this host, which the guest would be shown.
func Content(path string) (string, error) {
	format, err := Format(path)
	if err != nil || format != formatRaw {
		return format, err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, vmdkHead)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("cannot read %s: %w", path, err)
	}
	is, why := parseVMDK(b[:n])
	switch {
	case why != "":
		return "", unusable("it is a VMware disk that %s: make it one file that stands alone (qemu-img convert -O vmdk)", why)
	case is:
		return formatVMDK, nil
	}
	return formatRaw, nil
}

// parseVMDK says whether a file begins as a VMware disk, and why such a disk is not read; empty when it is.
func parseVMDK(b []byte) (is bool, refused string) {
	head := strings.TrimLeft(string(b[:min(len(b), 512)]), " \t\r\n")
	switch {
	case strings.HasPrefix(strings.ToLower(head), strings.ToLower(descriptor)):
		return true, "has its data in other files, which would be of this host"
	case bytes.HasPrefix(b, []byte(cowdMagic)):
		return true, "is of an ESX host of old"
	case !bytes.HasPrefix(b, []byte(vmdkMagic)):
		return false, ""
	case len(b) < 512:
		return true, "ends in its header"
	}
	// With no capacity of its own, QEMU takes the extents that the descriptor names.
	if capacity := binary.LittleEndian.Uint64(b[12:]); capacity == 0 {
		return true, "has its data in other files, which would be of this host"
	}
	text := string(b[512:])
	if strings.Contains(text, "parentFileNameHint") {
		return true, "names a parent, which would be another file of this host"
	}
	extents := 0
	for line := range strings.Lines(strings.ReplaceAll(text[:min(len(text), 20*512)], "\r", "\n")) {
		line, _, _ = strings.Cut(line, "\x00")
		fields := strings.Fields(line)
		if len(fields) >= 4 && (fields[0] == "RW" || fields[0] == "RDONLY" || fields[0] == "NOACCESS") {
			extents++
			if fields[2] != "SPARSE" {
				return true, "has its data in other files, which would be of this host"
			}
		}
	}
	if extents > 1 {
		return true, "has its data in several files, which would be of this host"
	}
	return true, ""
}

// FromVMDK writes a qcow2 image of what is in a VMware disk, which Content has seen. Both are whole paths; what is at the second
// is replaced.
func (m Maker) FromVMDK(ctx context.Context, from, to string) error {
	if err := errors.Join(CheckPath(from), CheckPath(to)); err != nil {
		return err
	}
	return m.run(ctx, key{}, "convert", "-q", "-f", formatVMDK, "-O", formatQcow2, "-o", compat, "--", from, to)
}
