package metadata

import "github.com/gitvirt/gitvirt/render/domxml"

// Namespace is the XML namespace of the record; Prefix is how it is written. A domain without an element of this
// namespace is not ours and is never changed.
const (
	Namespace = "https://gitvirt.io/xmlns/domain/v1alpha1"
	Prefix    = "gitvirt"
)

// Outcome is what became of the run that an inactive XML names.
type Outcome string

// The outcomes. A run that was defined and not yet started has none.
const (
	OutcomeNone      Outcome = ""
	OutcomeStarted   Outcome = "Started"   // it was started, and nobody has seen it end
	OutcomeStopped   Outcome = "Stopped"   // it was stopped because its RunState said so
	OutcomeSucceeded Outcome = "Succeeded" // the guest shut down by itself
	OutcomeFailed    Outcome = "Failed"    // the guest crashed, or was destroyed from outside
)

// Metadata is the record. The inactive and the live XML have one each: the inactive one speaks of the next start and
// of the last run, the live one of the run that it is the body of.
type Metadata struct {
	Config   string // the config's name
	Revision string // the commit that this XML was rendered from
	Digest   string // of what was rendered; the commit is not part of it
	Flavour  string

	Run     int64  // the number of the run, as the RunState gives it; 0: none yet
	UID     string // the instance's: one for each run
	Outcome Outcome
	Paused  bool // gitvirt paused it, not a person
	// Started is the digest that the run was started from; kept only for a machine that can be rolled back.
	Started string
	// Drift is a digest of the hand-made changes that the run was restarted for, so that what is there again is not
	// restarted for once more.
	Drift string

	// Good is what the machine last ran well on; empty for one that is not rolled back. Failed is what it did not run well
	// on: it is not tried again until the documents say something else.
	Good   Version
	Failed Failure

	DeletionPolicy string // Retain or Delete; kept here for when the config is gone
	GraceSeconds   int64  // how long a stop waits; kept here for when the config is gone
	Volumes        []Volume
	// Secrets are those that libvirt keeps for the domain.
	Secrets []Secret
	// Slots are where the devices are, or were before they were removed: no other device gets such a place.
	Slots domxml.Slots
	// Unnamed are the devices that were there before the domain was ours, and that carry no name in it: they stay as they
	// are, and are known by what is declared of them.
	Unnamed []string
	// Temporary is the temporary devices of this run, those that are about to be plugged in too, as Applied is: a <devices>
	// element. Only the live XML's record has it.
	Temporary string
	// Applied is the rendered XML that this definition was made from, gzip and base64: with it, what was taken out of
	// a document can be told from what was never in it.
	Applied string
}

// Version is what was rendered, and from which commit.
type Version struct {
	Revision string
	Digest   string
}

// Failure is a version that did not become ready, and why.
type Failure struct {
	Version
	Reason string
}

// Secret is one that libvirt keeps for the domain.
type Secret struct {
	Name  string
	Token string // of its value
}

// Volume is a storage volume that gitvirt made for the domain.
type Volume struct {
	Name string // the device's name
	Pool string
	File string // the volume's name in the pool
	Size int64  // bytes; 0: not known
	Keep bool   // it persists: it outlives the domain
	// Image tells the image that it began as from others; empty when it has none, or it is not known.
	Image string
	// First is the seed that the guest was set up with, where it does not look at File any more; empty otherwise.
	First string
}
