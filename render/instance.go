package render

import (
	"time"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/secret"
)

// Instance is a completed config together with its run state: nothing is left to default.
type Instance struct {
	Name           string // the domain's name too
	UUID           string
	Config         string // the config's name
	Source         string // where the config stands: file:line
	Flavour        string
	Presets        []string // that apply, in order
	Group          *Group   // nil for a machine of its own
	Host           string
	Labels         map[string]string
	Annotations    map[string]string
	State          manifest.PowerState
	Run            int64
	Revision       string // the commit
	Pinned         bool   // to Revision, which is not the newest
	RestartPolicy  manifest.RestartPolicy
	Rollout        manifest.Rollout
	Rollback       manifest.Rollback
	DeletionPolicy manifest.DeletionPolicy
	// CloudInitPolicy says when cloud-init sets the guest up anew.
	CloudInitPolicy manifest.CloudInitPolicy
	MoveVolumes     string
	Adopt           bool
	GraceSeconds    int64
	// Progress is how long a run may take to become ready.
	Progress time.Duration

	// Spec is the complete template spec. It holds secrets: Public shows it without.
	Spec manifest.InstanceSpec
	// Volumes are what must be on the host before the domain starts, in the spec's order.
	Volumes []Volume
	// Temporary are the devices that only this run has, as the run state's attach says, controllers first; TemporaryVolumes
	// are what they need. The definition has nothing of them, and Spec neither.
	Temporary        []*domxml.Element
	TemporaryVolumes []Volume
	// Domain is what is declared of the domain: only this is compared with what libvirt has.
	Domain *domxml.Element
	// Digest is of Domain and Volumes, not of the commit: the same digest, the same machine.
	Digest string
	// Secrets are those that libvirt keeps for the instance, sorted by name.
	Secrets []Secret
	// UUIDSaid says that the documents state the UUID. Otherwise it is derived.
	UUIDSaid bool

	found map[*manifest.SecretRef]found
}

// Group is the group that an instance is a member of.
type Group struct {
	Name  string
	Index int
	// MaxUnavailable is how many of its members on one host are restarted at once.
	MaxUnavailable int
}

// VolumeKind says how a volume comes to be.
type VolumeKind string

// The volume kinds.
const (
	VolumeBlank    VolumeKind = "Blank"    // an empty qcow2 or raw image, made once
	VolumeOverlay  VolumeKind = "Overlay"  // a qcow2 overlay on Backing, made once
	VolumeCopy     VolumeKind = "Copy"     // a full copy of Backing, made once; Backing is not needed afterwards
	VolumeEmpty    VolumeKind = "Empty"    // made anew at every run: blank, or an overlay on Backing
	VolumeSeed     VolumeKind = "Seed"     // an ISO image for cloud-init; its name changes with its content
	VolumeFetched  VolumeKind = "Fetched"  // no disk: a file that Fetch brings to Path, such as a kernel
	VolumeIgnition VolumeKind = "Ignition" // no disk: a configuration for Ignition at Path; its name changes with its content
	VolumeThere    VolumeKind = "There"    // one that somebody else made in Pool, and that is read
	VolumeRemote   VolumeKind = "Remote"   // a disk on a server
	VolumeFile     VolumeKind = "File"     // a host file at Path (hostDisk), made when it is not there and Create says so
	VolumeDevice   VolumeKind = "Device"   // a block device of the host at Path, which has to be there
	VolumeFolder   VolumeKind = "Folder"   // a folder of the host at Path, which has to be there; no disk, but a filesystem
)

// Volume is a file that a domain needs.
type Volume struct {
	Name          string // the device's name
	Kind          VolumeKind
	Pool          string // the libvirt pool, a directory; empty for what is elsewhere
	File          string // its name in the pool
	Path          string // on the host, for what is in no pool
	Create        bool   // for VolumeFile: make it when it is not there
	Size          int64  // bytes; 0: as the backing file
	Format        string // qcow2 or raw
	Backing       string // the backing file's path
	BackingFormat string // empty with Fetch: it is found out
	// Fetch says where Backing, or Path of a VolumeFetched, comes from; nil for a file that has to be there.
	Fetch *Fetch
	// Seed is the files of a cloud-init image by path in it.
	Seed secret.Files `json:"-"`
	// Label is the name of the image's file system, by which cloud-init finds it: cidata or config-2.
	Label string
	// Remote says which disk of which server it is, of a VolumeRemote, and SecretUUID which of libvirt's secrets opens it.
	Remote     *manifest.NetworkDisk
	SecretUUID string
	// ReadOnly says that a guest never writes to it.
	ReadOnly bool
	// Encryption is of a qcow2 volume; nil for none.
	Encryption *Encryption
}

// Fetch is a file in an OCI image, or an image at a URL.
type Fetch struct {
	Image string // REGISTRY/REPOSITORY[:TAG][@DIGEST]; empty with URL
	// Path is that of the file in the image; empty for the only file below /disk.
	Path string

	URL string // http, https or file; empty with Image
	// Sum is the checksum of what is at the URL, sha256:… or sha512:…, or Checksums the URL of a file that has it.
	Sum, Checksums string
	// Format is what is there once it is unpacked: qcow2, raw or vmdk; empty when it is found out.
	Format string

	// Login stands for the password of the registry or the server; empty for none.
	Login string
}

// String is the image or the URL.
func (f Fetch) String() string { return f.Image + f.URL }

// Fetched is the place of what Fetch brings.
func (v Volume) Fetched() string {
	if v.Kind == VolumeFetched {
		return v.Path
	}
	return v.Backing
}

// Persistent says whether the volume holds what cannot be made again.
func (v Volume) Persistent() bool {
	return v.Kind == VolumeBlank || v.Kind == VolumeOverlay || v.Kind == VolumeCopy || v.OfHost() && !v.ReadOnly
}

// OfHost says whether the volume is the host's own: nothing of it is ever removed.
func (v Volume) OfHost() bool {
	return v.Kind == VolumeFile || v.Kind == VolumeDevice || v.Kind == VolumeFolder
}

// Made says whether the volume is made for the machine, or fetched. All others have to be there, and are never removed.
func (v Volume) Made() bool {
	return v.Kind != VolumeRemote && v.Kind != VolumeThere && (!v.OfHost() || v.Create)
}
