package status

import (
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// Facts are what the loop knows after a pass. They are not changed once they were handed over.
type Facts struct {
	Now   time.Time
	Host  string
	Fleet string
	// Version is the program's.
	Version string

	Source    Source
	Libvirt   Libvirt
	Documents Documents

	Plan        plan.Plan
	Assessments []plan.Assessment
	// Addresses are those of guests, as far as they are known, by the instance's name.
	Addresses map[string][]plan.Address
	// Resources are the host's networks and storage pools, as far as they are gitvirt's business; ResourceFailures are their last
	// errors, by kind and name (Network/lan).
	Resources        []plan.ResourceAssessment
	ResourceFailures map[string]Failure
	// Failures are the last errors of instances, by name.
	Failures map[string]Failure
	// Restarts count how often the restart policy started an instance again, since the agent began.
	Restarts map[string]int
}

// Source is how it stands with the repository.
type Source struct {
	URL, Branch string
	// Revision is the commit in force; empty when there is none yet.
	Revision string
	// Committed is the committer's time of it.
	Committed time.Time
	// Success is when a fetch last went well; Error is what the last one failed with, empty when it went well.
	Success time.Time
	Error   string
	// Fetches and Failures count since the agent began.
	Fetches, Failures int
	// Held is the head of the branch that is not followed, and why; nil when there is none.
	Held *Held
}

// Held is a commit that the repository has and that does not come into force.
type Held struct {
	Commit, Reason string
	Since          time.Time
}

// Libvirt is how it stands with libvirt.
type Libvirt struct {
	Up    bool
	Error string
}

// Documents are those of the revision in force.
type Documents struct {
	// Set are all sound documents; nil before there is a revision. Of other hosts' machines it may know no more than where
	// they are.
	Set *manifest.Set
	// RunStates are those of this host, and of others as far as they are known, sorted by name.
	RunStates []*manifest.RunState
	Problems  []manifest.Problem
	// Unread is how many of the problems are that a pinned revision is not known yet, or could not be read: no fault of the
	// documents. They come last.
	Unread int
	// Warnings are what is read and has no effect.
	Warnings []manifest.Problem
	// Mended are the documents (Kind/name) that are broken and stay in force as they last were.
	Mended []string
}

// Failure is an error at one instance.
type Failure struct {
	Message   string
	Time      time.Time
	NotBefore time.Time // when it is tried again
	Attempts  int
}
