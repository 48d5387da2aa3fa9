package guest

import (
	"regexp"
	"strconv"
	"strings"
)

// Disk is a disk or CD drive as the guest sees it.
type Disk struct {
	Name   string // the kernel's: vda, sr0
	Bytes  int64
	Serial string // virtio disks only
}

// Report is what a guest says of itself when it is ready.
type Report struct {
	UUID      string // the domain's
	MemoryKiB int64  // what the kernel has, which is less than what the domain has
	CPUs      int
	Disks     []Disk
	NICs      []string // MAC addresses
}

// Seed is what a guest has read from its NoCloud seed, or from its config drive. Digests are in hexadecimal digits, and empty
// where there is no such file.
type Seed struct {
	InstanceID, LocalHostname string
	UserDataSHA256            string
	NetworkDataSHA256         string
	MetaDataSHA256            string
}

// Ready returns the report of the last boot on a console that may hold several, and whether there is one. A last line
// without its end is not looked at: the guest is still writing it.
func Ready(console string) (Report, bool) {
	fields, ok := lastLine(console, "READY")
	if !ok {
		return Report{}, false
	}
	report := Report{UUID: fields["uuid"]}
	report.MemoryKiB, _ = strconv.ParseInt(fields["memory"], 10, 64)
	report.CPUs, _ = strconv.Atoi(fields["cpus"])
	for text := range strings.SplitSeq(fields["disks"], ",") {
		parts := strings.SplitN(text, ":", 3)
		if len(parts) != 3 {
			continue
		}
		bytes, _ := strconv.ParseInt(parts[1], 10, 64)
		report.Disks = append(report.Disks, Disk{Name: parts[0], Bytes: bytes, Serial: parts[2]})
	}
	if nics := fields["nics"]; nics != "" {
		report.NICs = strings.Split(nics, ",")
	}
	return report, true
}

// SeedOf returns what the last boot on a console has read of its NoCloud seed, and whether it has.
func SeedOf(console string) (Seed, bool) { return seedOf(console, "SEED") }

// DriveOf returns what the last boot on a console has read of its config drive, and whether it has.
func DriveOf(console string) (Seed, bool) { return seedOf(console, "DRIVE") }

func seedOf(console, word string) (Seed, bool) {
	fields, ok := lastLine(console, word)
	return Seed{
		InstanceID:        fields["instance-id"],
		LocalHostname:     fields["local-hostname"],
		UserDataSHA256:    fields["sha256-of-user-data"],
		NetworkDataSHA256: fields["sha256-of-network-data"],
		MetaDataSHA256:    fields["sha256-of-meta-data"],
	}, ok
}

// IgnitionOf returns the digest of the configuration for Ignition that the last boot on a console has read, and whether it has.
func IgnitionOf(console string) (sha256 string, ok bool) {
	fields, ok := lastLine(console, "IGNITION")
	return fields["sha256-of-config"], ok
}

// Boots returns how often a guest has become ready on a console.
func Boots(console string) int {
	boots := 0
	for line := range strings.Lines(console) {
		if _, ok := fieldsOf(line, "READY"); ok {
			boots++
		}
	}
	return boots
}

func lastLine(console, word string) (fields map[string]string, ok bool) {
	for line := range strings.Lines(console) {
		if found, is := fieldsOf(line, word); is {
			fields, ok = found, true
		}
	}
	return fields, ok
}

// escapes are what firmware sends to clear the screen, often right before the guest's first line.
var escapes = regexp.MustCompile(`\x1b(\[[0-9;?=]*[A-Za-z]|c)`)

// fieldsOf reads a line of "WORD name=value …".
func fieldsOf(line, word string) (map[string]string, bool) {
	text, ok := strings.CutPrefix(escapes.ReplaceAllString(line, ""), word+" ")
	if !ok || !strings.HasSuffix(text, "\n") {
		return nil, false
	}
	fields := map[string]string{}
	for _, field := range strings.Fields(text) {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	return fields, true
}
