package plan

import (
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// Wanted is what one revision wants of one host.
type Wanted struct {
	Host     string
	Revision string
	// Instances are those whose RunState names this host, sorted by name.
	Instances []*render.Instance
	// Fallback are those of them whose wanted version failed, as of the revision that they last ran well on.
	Fallback map[string]Fallback
	// Broken are instances of this host that cannot be rendered, and why: they are left as they are.
	Broken map[string]string
	// Locked are instances of this host with a secret that it cannot use, and why: they are left as they are.
	Locked map[string]string
	// Forbidden are those of Instances that the host's policy refuses: they are left as they are.
	Forbidden map[string]Forbidden
	// Incomplete says that the revision has documents that cannot be read: nothing is removed.
	Incomplete bool
	// Suspended holds everything; nil when the host is not suspended.
	Suspended *Suspension
	// Gone are the names of configs that domains here were made of and that the revision has no more.
	Gone map[string]bool
	// Elsewhere are the RunStates of other hosts, by the names of domains that are here.
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
	// Ready is what is known of guests' being up; nil when nobody asks them, and each that runs counts as up.
	Ready map[string]Readiness
	// Starts are the starts that failed since the last that did not.
	Starts map[string]Starts
	// Patience is how long a guest has to follow a change while it runs; the usual time when it is 0.
	Patience time.Duration
	// Tries are the changes of running machines that were tried, by instance and by the action's Try.
	Tries map[string]map[string]Try
	// LetThrough are removals that a commit has allowed.
	LetThrough map[string]bool
	// MovedFrom are the hosts that instances were on in an earlier revision.
	MovedFrom map[string]string
}

// Asked is when a guest was asked to shut down, first and last.
type Asked struct{ First, Last time.Time }

// Starts are the failed starts of one version of an instance, and what the last one failed with.
type Starts struct {
	Digest   string
	Failures int
	Message  string
}

// Refusal is a definition that libvirt refused.
type Refusal struct{ Digest, Message string }

// Memo is the outcome of comparing one instance, for as long as neither side changes.
type Memo struct {
	Digest, Inactive, Live string // of the instance; hashes of the XML
	// InSync says that the inactive XML has all that is declared.
	InSync bool
	// Unkept is what libvirt does not keep as it was declared, just after it was defined.
	Unkept []Change
	// Temporary is of the instance's temporary devices.
	Temporary string
	// Cannot is what is declared and no machine that is there can become.
	Cannot []Change
	// Behind is what is declared and the live XML has not.
	Behind []Behind
	// Config is what the inactive XML's record has to say before temporary devices are plugged in, Before what the live
	// XML's has to say before anything is changed in the running machine, and After what it has to say once nothing is
	// left to be changed; nil where it does.
	Config, Before, After *metadata.Metadata
}

// Staged is a change that waits for the next start.
type Staged struct {
	Change
	Effect Effect `json:"effect"`
	// Restart says that the running machine is behind until it is restarted. Otherwise the guest would not see the
	// change before it starts again anyway: the order of booting.
	Restart bool `json:"restart"`
	// Why says why it is not applied to the running machine, where its rollout would have that; empty for what nobody
	// can change in a running machine.
	Why string `json:"why,omitempty"`
}

// Try is what became of a change of a running machine.
type Try struct {
	ID int32 // the domain's: in another run it is tried again
	At time.Time
	// Refused is what libvirt says against it; empty when it took it.
	Refused string
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
	// Staged is what the running machine has not, and does not come by while it runs.
	Staged []Staged
	// Rejected is what is wanted and failed, when Instance is what it was rolled back to; nil otherwise.
	Rejected *render.Instance
	// Unready says why a guest that runs is not up, where that is asked; empty when it is.
	Unready string
	// Blocked says why something cannot be done, by reason and message; empty when all can.
	Blocked []Block
	// Notes say what is left alone, and why.
	Notes   []Block
	Actions []Action
	// Memo is the comparison, to be remembered; nil when the definition is not in sync.
	Memo   *Memo
	behind []Behind
	// Wake is when to look again though nothing has happened; zero for never.
	Wake time.Time

	// unnamed are the devices that have no name in the domain, because they were there before it was ours.
	unnamed []string

	takesOver bool // a domain that runs, without a change of it

	late  bool // it runs, and is not up though it has had its time
	heard bool // it is known to be up

	secrets []LibvirtSecret // that libvirt keeps for it
}

// Block is a reason in CamelCase, and a sentence for people.
type Block struct{ Reason, Message string }
