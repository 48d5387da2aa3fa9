package address

import (
	"context"
	"sync"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

const (
	// hostAtOnce is how many guests the host is asked about at the same time, which takes it a millisecond each.
	hostAtOnce = 4
	// agentAtOnce is how many guests are asked themselves. One that does not answer takes up to 10 s, and leaves a turn for
	// the others and for those who ask whether a guest is up.
	agentAtOnce = 2
)

// Guests is what libvirt knows of guests, by the UUIDs of their domains.
type Guests interface {
	// HostAddresses are those that the host knows without asking the guest, which has interfaces with these MAC addresses.
	HostAddresses(ctx context.Context, uuid string, macs []string) ([]plan.Address, error)
	// AgentAddresses are those that the guest's agent says.
	AgentAddresses(ctx context.Context, uuid string) ([]plan.Address, error)
}

// Finder finds the addresses of guests. Its methods may be called from several goroutines.
type Finder struct {
	host, agent *lane
	changed     chan struct{}
}

// New makes a finder that asks nothing yet.
func New(guests Guests) *Finder {
	changed := make(chan struct{}, 1)
	return &Finder{
		host: newLane(func(ctx context.Context, g plan.Guest) ([]plan.Address, error) {
			return guests.HostAddresses(ctx, g.UUID, g.MACs)
		}, hostAtOnce, changed),
		agent: newLane(func(ctx context.Context, g plan.Guest) ([]plan.Address, error) {
			return guests.AgentAddresses(ctx, g.UUID)
		}, agentAtOnce, changed),
		changed: changed,
	}
}

// Changed receives when a guest has other addresses than before.
func (f *Finder) Changed() <-chan struct{} { return f.changed }

// Watch says which guests it is that matter from now on. A run that is new begins anew.
func (f *Finder) Watch(guests []plan.Guest) {
	f.host.watch(guests)
	var open []plan.Guest
	for _, g := range guests {
		if g.Agent {
			open = append(open, g)
		}
	}
	f.agent.watch(open)
}

// Known are the addresses of the guests that are watched, by name, as far as they are known. What the guest says itself comes
// before what the host knows of the same interface.
func (f *Finder) Known() map[string][]plan.Address {
	all := f.agent.known()
	for name, addresses := range f.host.known() {
		all[name] = plan.Preferred(all[name], addresses)
	}
	return all
}

// Run asks until the context ends. It returns when nothing that it began goes on.
func (f *Finder) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { f.host.run(ctx) })
	group.Go(func() { f.agent.run(ctx) })
}
