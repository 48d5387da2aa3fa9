package address_test

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/address"
	"github.com/gitvirt/gitvirt/reconcile/plan"
)

const mac, other = "52:54:00:00:00:01", "52:54:00:00:00:02"

func at(mac, ip string, source plan.AddressSource) plan.Address {
	return plan.Address{MAC: mac, IP: netip.MustParseAddr(ip), Source: source}
}

// guests are libvirt's, as a test wants them.
type guests struct {
	mu          sync.Mutex
	host, agent map[string][]plan.Address
	failing     error
	hangs       map[string]bool
	asked       []question
	now, most   int // agents at once
}

type question struct {
	who string
	at  time.Duration
}

var began time.Time

func (g *guests) HostAddresses(_ context.Context, uuid string, _ []string) ([]plan.Address, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, question{"host " + uuid, time.Since(began)})
	return g.host[uuid], nil
}

func (g *guests) AgentAddresses(ctx context.Context, uuid string) ([]plan.Address, error) {
	g.mu.Lock()
	g.asked = append(g.asked, question{"agent " + uuid, time.Since(began)})
	g.now++
	g.most = max(g.most, g.now)
	hangs, found, err := g.hangs[uuid], g.agent[uuid], g.failing
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.now--
		g.mu.Unlock()
	}()
	if hangs {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
		return nil, errors.New("no answer")
	}
	return found, err
}

// times are when somebody was asked, since the test began.
func (g *guests) times(who string) []time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []time.Duration
	for _, q := range g.asked {
		if q.who == who {
			all = append(all, q.at)
		}
	}
	return all
}

func (g *guests) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// running runs a finder for the length of a scenario in virtual time.
func running(t *testing.T, g *guests, scenario func(f *address.Finder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began = time.Now()
		f := address.New(g)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			f.Run(ctx)
			close(ended)
		}()
		scenario(f)
		stop()
		<-ended
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func seconds(n ...int) []time.Duration {
	var all []time.Duration
	for _, s := range n {
		all = append(all, time.Duration(s)*time.Second)
	}
	return all
}

// TestWhatTheGuestSaysGoesBefore: of each interface the agent's word counts, and the host's where the agent has none.
func TestWhatTheGuestSaysGoesBefore(t *testing.T) {
	g := &guests{
		host:  map[string][]plan.Address{"u": {at(mac, "192.0.2.5", plan.FromLease), at(other, "192.0.2.6", plan.FromARP)}},
		agent: map[string][]plan.Address{"u": {at(mac, "198.51.100.5", plan.FromAgent)}},
	}
	running(t, g, func(f *address.Finder) {
		f.Watch([]plan.Guest{{Name: "web", UUID: "u", ID: 1}})
		pass(0)
		if want, got := g.host["u"], f.Known()["web"]; !reflect.DeepEqual(got, want) {
			t.Errorf("with its channel not open: %v, want %v", got, want)
		}
		if asked := g.times("agent u"); asked != nil {
			t.Errorf("its channel is not open, and it was asked at %v", asked)
		}
		f.Watch([]plan.Guest{{Name: "web", UUID: "u", ID: 1, Agent: true}})
		pass(0)
		want := []plan.Address{g.agent["u"][0], g.host["u"][1]}
		if got := f.Known()["web"]; !reflect.DeepEqual(got, want) {
			t.Errorf("with its channel open: %v, want %v", got, want)
		}
		select {
		case <-f.Changed():
		default:
			t.Error("nobody was told of the addresses")
		}
		f.Watch([]plan.Guest{{Name: "web", UUID: "u", ID: 2}})
		synctest.Wait()
		if got := f.Known()["web"]; !reflect.DeepEqual(got, g.host["u"]) {
			t.Errorf("another run: %v", got)
		}
		f.Watch(nil)
		if got := f.Known(); len(got) > 0 {
			t.Errorf("it does not run any more: %v", got)
		}
	})
}

// TestAsksOftenUntilItKnows: a guest that boots is asked after 2 s, 4 s and so on; one whose address is known each minute.
func TestAsksOftenUntilItKnows(t *testing.T) {
	g := &guests{host: map[string][]plan.Address{}}
	running(t, g, func(f *address.Finder) {
		f.Watch([]plan.Guest{{Name: "web", UUID: "u", ID: 1}})
		pass(15 * time.Second)
		g.set(func() { g.host["u"] = []plan.Address{at(mac, "192.0.2.5", plan.FromLease)} })
		pass(150 * time.Second)
		f.Watch([]plan.Guest{{Name: "web", UUID: "u", ID: 1}}) // nothing has happened
		pass(time.Second)
		if got, want := g.times("host u"), seconds(0, 2, 6, 14, 30, 90, 150); !slices.Equal(got, want) {
			t.Errorf("asked at %v, want %v", got, want)
		}
		for len(f.Changed()) > 0 {
			<-f.Changed()
		}
		pass(time.Minute)
		if len(f.Changed()) > 0 {
			t.Error("the same address is told again")
		}
	})
}

// TestASilentAgentIsAskedEverMoreSeldom: after each failure it is left alone for twice as long, up to 10 minutes; what it
// said last holds until it has failed three times.
func TestASilentAgentIsAskedEverMoreSeldom(t *testing.T) {
	known := []plan.Address{at(mac, "192.0.2.5", plan.FromAgent)}
	g := &guests{agent: map[string][]plan.Address{"u": known}}
	running(t, g, func(f *address.Finder) {
		f.Watch([]plan.Guest{{Name: "web", UUID: "u", ID: 1, Agent: true}})
		pass(0)
		g.set(func() { g.failing = errors.New("no answer") })
		pass(3 * time.Minute)
		if got := f.Known()["web"]; !reflect.DeepEqual(got, known) {
			t.Errorf("after two failures: %v", got)
		}
		pass(time.Hour)
		if got := f.Known()["web"]; got != nil {
			t.Errorf("after an hour of failures: %v", got)
		}
		asked := g.times("agent u")
		if last := asked[len(asked)-1] - asked[len(asked)-2]; last != 10*time.Minute {
			t.Errorf("asked at %v", asked)
		}
		g.set(func() { g.failing = nil })
		pass(10 * time.Minute)
		if got := f.Known()["web"]; !reflect.DeepEqual(got, known) {
			t.Errorf("it answers again: %v", got)
		}
	})
}

// TestHungAgentsHoldUpNobody: with 50 of 1,000 guests whose agents do not answer, all others are known soon, and no more
// than two agents are asked at once.
func TestHungAgentsHoldUpNobody(t *testing.T) {
	g := &guests{host: map[string][]plan.Address{}, agent: map[string][]plan.Address{}, hangs: map[string]bool{}}
	var all []plan.Guest
	for n := range 1000 {
		id := string(rune('a'+n%26)) + time.Duration(n).String()
		all = append(all, plan.Guest{Name: id, UUID: id, ID: int32(n), Agent: true})
		g.host[id] = []plan.Address{at(mac, "192.0.2.5", plan.FromLease)}
		g.agent[id] = []plan.Address{at(other, "192.0.2.6", plan.FromAgent)}
		g.hangs[id] = n%20 == 0
	}
	running(t, g, func(f *address.Finder) {
		f.Watch(all)
		pass(time.Second)
		if known := f.Known(); len(known) != 1000 {
			t.Errorf("what the host knows of %d guests is known after a second", len(known))
		}
		pass(5 * time.Minute)
		for id, known := range f.Known() {
			if want := 2 - map[bool]int{true: 1}[g.hangs[id]]; len(known) != want {
				t.Fatalf("%s: %v", id, known)
			}
		}
		if g.most > 2 {
			t.Errorf("%d agents were asked at once", g.most)
		}
	})
}
