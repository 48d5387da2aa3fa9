package reconcile

import (
	"context"
	"log/slog"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/source"
)

// Source gives revisions. Fetch and At may take long; the loop calls them where nothing waits for them.
type Source interface {
	// Load returns the last accepted revision without asking the remote.
	Load(ctx context.Context) (*source.Snapshot, error)
	// Fetch returns the newest revision, the same pointer as before when nothing changed.
	Fetch(ctx context.Context) (*source.Snapshot, error)
	// At returns an earlier revision.
	At(ctx context.Context, commit string) (*source.Snapshot, error)
	// Watch calls changed when the branch of a local repository moves, until the context ends.
	Watch(ctx context.Context, changed func()) error
	// Held is the rewritten branch that Fetch does not follow, or nil.
	Held() *source.Held
	// Local says that the repository is on this machine's disk: to ask it costs nobody else anything.
	Local() bool
}

// Runner is libvirt.
type Runner interface {
	Observe(ctx context.Context) (plan.World, error)
	// Apply runs one instance's steps in order. It is called for many instances at once.
	Apply(ctx context.Context, steps []plan.Step) error
	// DomainType is kvm where the host can, qemu where it cannot.
	DomainType(ctx context.Context) (string, error)
	// Wake receives when there is something new to observe.
	Wake() <-chan struct{}
}

// Prober finds out whether guests are up.
type Prober interface {
	// Run asks the guests that are watched until the context ends, and waits for all that it began.
	Run(ctx context.Context)
	// Watch says which guests these are. It does not wait.
	Watch(probes []plan.Probe)
	// Once asks each of them one time, and waits for the answers.
	Once(ctx context.Context, probes []plan.Probe)
	// Ready is what is known of those that are watched.
	Ready() map[string]plan.Readiness
	// Changed receives when there is something new to know.
	Changed() <-chan struct{}
}

// Addresses finds the addresses of guests.
type Addresses interface {
	// Run asks about the guests that are watched until the context ends, and waits for all that it began.
	Run(ctx context.Context)
	// Watch says which guests these are. It does not wait.
	Watch(guests []plan.Guest)
	// Known are the addresses that are known, by the guests' names.
	Known() map[string][]plan.Address
	// Changed receives when there is something new to know.
	Changed() <-chan struct{}
}

// Options are what a loop works with.
type Options struct {
	Host, Fleet string
	// DefaultHost is where machines are of which KubeVirt's manifests do not say it.
	DefaultHost string
	// Policy is what machines may have of this host. It outranks the repository.
	Policy policy.Policy
	// CacheDir is where the host keeps what is fetched for its machines.
	CacheDir string
	// URL and Branch are for show.
	URL, Branch string
	// Interval is how long the loop waits before it asks the repository again; a tenth of it, at random, is added.
	Interval time.Duration
	// Budget is how many instances one revision may remove from this host.
	Budget int
	// Patience is how long a guest has to follow a change while it runs; plan.Patience when it is 0.
	Patience time.Duration
	// StateFile keeps what must outlive the agent.
	StateFile string
	Version   string

	Source Source
	Runner Runner
	// Resources may be nil: then networks and storage pools are left alone.
	Resources ResourceRunner
	// Secrets may be nil: then only the forms of secrets are checked.
	Secrets render.Secrets
	// Prober may be nil: a guest that runs is up then.
	Prober Prober
	// Addresses may be nil: then none are shown.
	Addresses Addresses
	Logger    *slog.Logger
	Metrics   Metrics
	// Publish takes what is known after each pass.
	Publish func(status.Facts)
	// Refused says whether libvirt refused a definition, or a change of a running domain, so that trying again is of no use.
	Refused func(error) bool
}

// Metrics count what the loop does.
type Metrics interface {
	Fetched(took time.Duration, err error)
	// Rewritten counts that the branch's history was rewritten, whether that is followed or held.
	Rewritten()
	// Unverified counts a revision that was refused because it does not carry the signatures that it must.
	Unverified()
	Passed(took time.Duration, err error)
	Acted(action plan.Action, err error)
}
