package plan

import (
	"regexp"
	"slices"
	"time"

	"github.com/gitvirt/gitvirt/render"
)

// Made says what is known of who made a volume.
type Made string

// Who made a volume.
const (
	MadeHere    Made = "gitvirt" // it has gitvirt's mark
	MadePerhaps Made = "perhaps" // it has no mark, and a name as gitvirt gives them
	MadeOther   Made = ""
)

// Stored is a volume in one of the host's storage pools.
type Stored struct {
	Pool string `json:"pool"`
	Name string `json:"name"`
	// Path is the file's or the device's; empty for one that has none.
	Path   string `json:"path,omitempty"`
	Format string `json:"format,omitempty"`
	// Capacity is what a guest sees, and Allocation what is taken on the host, in bytes.
	Capacity   int64 `json:"capacity"`
	Allocation int64 `json:"allocation"`
	Made       Made  `json:"made,omitempty"`
	// Instance, Config and Volume are whose it is, and what it is there called: as its mark says, or its name.
	Instance string `json:"instance,omitempty"`
	Config   string `json:"config,omitempty"`
	Volume   string `json:"volume,omitempty"`
	// UsedBy are the domains that have it, gitvirt's or not, and the images that lie on it.
	UsedBy []string `json:"usedBy,omitempty"`
	// Wanted says that the revision in force has it for a machine of this host.
	Wanted bool `json:"wanted"`
	// Orphaned says that gitvirt made it, and that nobody uses or wants it any more; OrphanedSince when that was first seen.
	Orphaned      bool       `json:"orphaned"`
	OrphanedSince *time.Time `json:"orphanedSince,omitempty"`
}

// Storage is what a host stores.
type Storage struct {
	// Volumes are sorted by pool and name.
	Volumes []Stored
	// Unread are the pools, and the domains, that could not be read: nobody can say what they use.
	Unread []string
}

// ownName is INSTANCE.VOLUME.SUFFIX, of DNS labels: see package render.
var ownName = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)\.([a-z0-9]([-a-z0-9]*[a-z0-9])?)\.(qcow2|img|iso)$`)

// OwnName takes a volume's name apart as gitvirt gives them.
func OwnName(name string) (instance, volume string, ok bool) {
	m := ownName.FindStringSubmatch(name)
	if m == nil {
		return "", "", false
	}
	return m[1], m[3], true
}

// JudgeStored says of each volume whether it is wanted, and whether it is an orphan. What is not known for sure counts as
// wanted: the volumes of a machine whose documents cannot be used, and of one that is about to go.
func JudgeStored(volumes []Stored, world World, all []Assessment) {
	wanted := map[string]bool{} // POOL/NAME, and the names of instances
	for _, a := range all {
		if a.Instance == nil {
			wanted[a.Name] = true
			continue
		}
		for _, i := range []*render.Instance{a.Instance, a.Rejected} {
			if i == nil {
				continue
			}
			for _, v := range slices.Concat(i.Volumes, i.TemporaryVolumes) {
				wanted[v.Pool+"/"+v.File] = true
			}
		}
	}
	for _, d := range world.Domains {
		if m := d.Meta(); m != nil {
			for _, v := range m.Volumes {
				wanted[v.Pool+"/"+v.File] = true
			}
		}
	}
	for n := range volumes {
		v := &volumes[n]
		v.Wanted = wanted[v.Pool+"/"+v.Name] || v.Instance != "" && wanted[v.Instance]
		v.Orphaned = v.Made != MadeOther && !v.Wanted && len(v.UsedBy) == 0
	}
}
