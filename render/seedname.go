package render

import "regexp"

// seedName is the form of the names of seeds: INSTANCE.VOLUME-DIGEST[-ID].iso, and .ign for Ignition's. A name cannot be that of
// another machine's, because neither part has a dot.
var seedName = regexp.MustCompile(`^[a-z0-9-]+\.[a-z0-9-]+-[0-9a-f]{16}((?:-[0-9a-f]{8})?)\.(iso|ign)$`)

// IsSeedName says whether a file is one that a guest is set up with, by its name.
func IsSeedName(file string) bool { return seedName.MatchString(file) }

// IsIgnitionName says whether it is a configuration for Ignition.
func IsIgnitionName(file string) bool {
	m := seedName.FindStringSubmatch(file)
	return m != nil && m[2] == "ign"
}

// SeedChange is what becomes of an edited seed.
type SeedChange string

// What becomes of it.
const (
	// SeedNone says that these are not two seeds.
	SeedNone SeedChange = ""
	// SeedAnew says that the instance-id is another one: cloud-init sets the guest up anew when it starts.
	SeedAnew SeedChange = "anew"
	// SeedWaits says that the guest has been set up with the one before, and does not look at this one for the rest of its
	// life: its disks have to be made anew.
	SeedWaits SeedChange = "waits"
)

// CompareSeeds says what an edit means to a guest that has read the one seed and is given the other, by the names of their
// files.
func CompareSeeds(before, after string) SeedChange {
	b, a := seedName.FindStringSubmatch(before), seedName.FindStringSubmatch(after)
	switch {
	case b == nil || a == nil || b[2] != a[2]:
		return SeedNone
	case b[1] != a[1]:
		return SeedAnew
	}
	return SeedWaits
}
