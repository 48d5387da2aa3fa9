package plan

import (
	"time"

	"github.com/gitvirt/gitvirt/render"
)

// Wanted is what one revision wants of one host.
type Wanted struct {
	Host     string
	Revision string
	// Instances are those whose RunState names this host, sorted by name.
	Instances []*render.Instance
	// Broken are instances of this host that cannot be rendered, and why: they are left as they are.
	Broken map[string]string
	// Incomplete says that the revision has documents that cannot be read: nothing is removed.
	Incomplete bool
	// Suspended holds everything; nil when the host is not suspended.
	Suspended *Suspension
	// Configs are the names of all configs in the revision.
	Configs map[string]bool
	// Elsewhere are the RunStates of other hosts.
	Elsewhere map[string]Elsewhere
	// Budget is how many instances one revision may remove.
	Budget int
	// Allowed is how many a commit lets through beyond the budget.
	Allowed int
}

// Suspension is what a Host document says of a host that is to be left alone.
type Suspension struct {
	Reason string
	// Until is when it ends by itself; zero for never.
	Until time.Time
}

// Elsewhere is a RunState of another host.
type Elsewhere struct {
	Host string
	// Recreate says that it may begin there with empty volumes.
	Recreate bool
}

// Memory is what an agent remembers from one pass to the next, and the time. A plan made without it is right as well; it
// costs more, and says less of what is under way.
type Memory struct {
	Now time.Time
	// Asked is when guests were asked to shut down.
	Asked map[string]Asked
	// NotBefore is when an instance that failed may be tried again.
	NotBefore map[string]time.Time
	// Refused are definitions that libvirt refused; they are not tried again until they change.
	Refused map[string]Refusal
	// Defined is the digest that this agent last defined, by instance.
	Defined map[string]string
	// Memos are the comparisons of earlier passes.
	Memos map[string]*Memo
	// LetThrough are removals that a commit has allowed.
	LetThrough map[string]bool
	// MovedFrom are the hosts that instances were on in an earlier revision.
	MovedFrom map[string]string
}

// Asked is when a guest was asked to shut down, first and last.
type Asked struct{ First, Last time.Time }

// Refusal is a definition that libvirt refused.
type Refusal struct{ Digest, Message string }

// Memo is the outcome of comparing one instance, for as long as neither side changes.
type Memo struct {
	Digest, Inactive, Live string // of the instance; hashes of the XML
	// InSync says that the inactive XML has all that is declared.
	InSync bool
	// Unkept is what libvirt does not keep as it was declared, just after it was defined.
	Unkept []Change
	// Staged is what the inactive XML has and the live XML has not.
	Staged []Change
}

// Staged is a change that waits for the next start.
type Staged struct {
	Change
	Effect Effect `json:"effect"`
}

// Phase is what an instance is in, by the names of KubeVirt's phases.
type Phase string

// The phases.
const (
	PhasePending    Phase = "Pending"    // there is no domain yet
	PhaseScheduling Phase = "Scheduling" // the domain is defined and about to start
	PhaseRunning    Phase = "Running"
	PhasePaused     Phase = "Paused"
	PhaseStopped    Phase = "Stopped"
	PhaseSucceeded  Phase = "Succeeded" // the guest shut down by itself, and is not restarted
	PhaseFailed     Phase = "Failed"    // the guest crashed or was destroyed, and is not restarted
	PhaseUnknown    Phase = "Unknown"   // libvirt gives no answer
)

// Assessment is what a pass finds about one instance, and what it means to do.
type Assessment struct {
	Name string
	// Instance is what is wanted; nil for one that is to be removed, or that cannot be rendered.
	Instance *render.Instance
	// Domain is what is there; nil for nothing.
	Domain *Domain
	Phase  Phase
	Staged []Staged
	// Blocked says why something cannot be done, by reason and message; empty when all can.
	Blocked []Block
	// Notes say what is left alone, and why.
	Notes   []Block
	Actions []Action
	// Memo is the comparison, to be remembered; nil when the definition is not in sync.
	Memo *Memo
	// Wake is when to look again though nothing has happened; zero for never.
	Wake time.Time
}

// Block is a reason in CamelCase, and a sentence for people.
type Block struct{ Reason, Message string }
