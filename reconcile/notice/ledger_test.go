package notice

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// script drives a ledger in words: "A pending" is a verdict, "web Failed db Ready" are instances, "tell" tells all that
// waits, "take" takes one to tell and "told" ends that, "again" begins again with what was kept. It returns what was told.
func script(t *testing.T, steps string) string {
	t.Helper()
	l := NewLedger(Said{})
	var told []string
	var taken Notice
	say := func(n Notice) {
		what := n.Commit
		if n.Instance != "" {
			what = n.Instance
		}
		told = append(told, what+" "+string(n.State))
		l.Told(n)
	}
	for step := range strings.SplitSeq(steps, "; ") {
		words := strings.Fields(step)
		switch {
		case step == "tell":
			for n, ok := l.Next(); ok; n, ok = l.Next() {
				say(n)
			}
		case step == "take":
			var ok bool
			if taken, ok = l.Next(); !ok {
				t.Fatalf("nothing waits at %q in %q", step, steps)
			}
		case step == "told":
			say(taken)
		case step == "again":
			l = NewLedger(l.Said())
		case words[0] == "refused":
			l.Refused(Verdict{Commit: words[1], State: Held}, time.Time{})
		case words[0] == strings.ToUpper(words[0]):
			l.Verdict(Verdict{Commit: words[0], State: State(words[1])}, time.Time{})
		default:
			var all []Instance
			for n := 0; n+1 < len(words); n += 2 {
				all = append(all, Instance{Name: words[n], State: State(words[n+1])})
			}
			l.Instances(all, "A", time.Time{})
		}
	}
	return strings.Join(told, "; ")
}

func TestOnlyTransitionsAreTold(t *testing.T) {
	for _, tt := range []struct{ name, steps, want string }{
		{"a revision's way", "A pending; tell; A pending; tell; A success; tell; A success; tell", "A pending; A success"},
		{"quicker than it is told", "A pending; A success; tell", "A success"},
		{"mending what somebody changed is no news", "A success; tell; A pending; tell; A success; tell", "A success"},
		{"a failure is, and its end", "A success; tell; A failure; tell; A pending; tell; A success; tell", "A success; A failure; A success"},
		{"a failure that ends before it is told", "A success; tell; A failure; A success; tell", "A success"},
		{"another revision", "A success; tell; B pending; tell; B success; tell", "A success; B pending; B success"},
		{"each of several that wait", "A pending; B failure; C success; tell", "A pending; B failure; C success"},
		{"back to an earlier one", "A success; tell; B pending; A pending; A success; tell", "A success; B pending; A success"},
		{"nothing twice after a restart", "A success; tell; again; A pending; A success; tell", "A success"},
		{"what was not told is told after a restart", "A pending; tell; A success; again; A success; tell", "A pending; A success"},
		{"held, and let through", "A held; tell; A held; A pending; tell; A success; tell", "A held; A success"},
		{"it changes while it is told", "A success; take; A failure; told; tell", "A success; A failure"},
		{"it changes and back while it is told", "A success; tell; A failure; take; A success; told; tell", "A success; A failure; A success"},
		{"it changes and back, and was not told", "A success; tell; A failure; take; A success; tell", "A success"},
		{"one that does not come into force", "A success; tell; A success; refused B; tell; A success; refused B; tell", "A success; B held"},
		{"and comes into force later", "refused B; A success; tell; B pending; B success; tell", "B held; A success; B success"},
		{"and comes into force before that is told", "A success; tell; refused B; B success; tell", "A success; B success"},
		{"and nothing twice after a restart", "A success; refused B; tell; again; A success; refused B; tell", "A success; B held"},
		{"one after the other", "A success; refused B; tell; refused C; A success; tell", "A success; B held; C held"},
		{"back to one that was in force", "A success; B success; tell; B success; refused A; tell; B success; tell", "A success; B success; A held"},

		{"instances that are well", "a Ready b Ready; tell", ""},
		{"one that is not", "a Ready b Failed; tell; a Ready b Failed; tell; a Ready b Ready; tell", "b Failed; b Ready"},
		{"one state after another", "a NotReady; tell; a Blocked; tell; a Ready; tell", "a NotReady; a Blocked; a Ready"},
		{"quick ones", "a NotReady; a Ready; tell", ""},
		{"one that goes", "a Ready b Ready; a Ready; tell; a Ready; tell", "b Removed"},
		{"the last one goes", "a Ready; removed; tell", "a Removed"},
		{"one that comes again", "a Ready; removed; tell; a NotReady; tell; a Ready; tell", "a Removed; a NotReady; a Ready"},
		{"one that went while the agent was away", "a Failed b Failed; tell; again; a Failed; tell", "a Failed; b Failed; b Removed"},
		{"nothing twice after a restart, of instances", "a Failed; tell; again; a Failed; tell", "a Failed"},
		{"both kinds", "A success; a Failed; A failure; tell", "A failure; a Failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := script(t, tt.steps); got != tt.want {
				t.Errorf("told %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTheQueueIsBounded lets nobody listen.
func TestTheQueueIsBounded(t *testing.T) {
	l := NewLedger(Said{})
	dropped := 0
	const commits = 5 * maxWaiting
	for n := range commits {
		dropped += l.Verdict(Verdict{Commit: fmt.Sprint(n), State: Failure}, time.Time{})
	}
	if len(l.waiting) != maxWaiting || len(l.order) != maxWaiting || dropped != commits-maxWaiting {
		t.Fatalf("%d wait, %d dropped", len(l.waiting), dropped)
	}
	var last Notice
	for n, ok := l.Next(); ok; n, ok = l.Next() {
		last = n
		l.Told(n)
	}
	if last.Commit != fmt.Sprint(commits-1) {
		t.Errorf("the last is %s", last.Commit)
	}
}

// TestLedgerByChance makes random histories: nothing is told twice in a row of the same thing, and once all is told, what was
// said is what is the case.
func TestLedgerByChance(t *testing.T) {
	states := []State{Pending, Success, Failure, Held}
	instances := []State{Ready, NotReady, Failed, Blocked, Unknown}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := NewLedger(Said{})
		heard := map[string]State{}
		var now []Instance
		var verdict Verdict
		hear := func(n Notice) {
			if n.Refused {
				if heard["refused"] == State(n.Commit) {
					t.Fatalf("seed %d: %s is said to be refused twice", seed, n.Commit)
				}
				heard["refused"] = State(n.Commit)
				l.Told(n)
				return
			}
			key := n.key()
			before, ok := heard[key]
			if n.Instance != "" && !ok {
				before, ok = Ready, true
			}
			if ok && before == n.State && (n.Instance != "" || heard["last"] == State(n.Commit)) {
				t.Fatalf("seed %d: %s is said to be %s twice", seed, key, n.State)
			}
			if heard[key] = n.State; n.State == Removed {
				delete(heard, key) // it may come back, and be well at once
			}
			if n.Instance == "" {
				heard["last"] = State(n.Commit)
			}
			l.Told(n)
		}
		for range 40 {
			switch r.IntN(7) {
			case 0, 1:
				verdict = Verdict{Commit: string(rune('A' + r.IntN(3))), State: states[r.IntN(len(states))]}
				l.Verdict(verdict, time.Time{})
			case 2, 3:
				now = nil
				for _, name := range []string{"a", "b", "c"} {
					if r.IntN(4) > 0 {
						now = append(now, Instance{Name: name, State: instances[r.IntN(len(instances))]})
					}
				}
				l.Instances(now, verdict.Commit, time.Time{})
			case 4:
				if n, ok := l.Next(); ok {
					hear(n)
				}
			case 6:
				if c := string(rune('A' + r.IntN(3))); c != verdict.Commit {
					l.Refused(Verdict{Commit: c, State: Held}, time.Time{})
				}
			case 5: // a try that fails, while things change
				l.Next()
			}
		}
		if verdict.Commit == "" {
			continue
		}
		for range 2 { // what changed while it was told shows at the next pass
			l.Verdict(verdict, time.Time{})
			l.Instances(now, verdict.Commit, time.Time{})
			for n, ok := l.Next(); ok; n, ok = l.Next() {
				hear(n)
			}
		}
		said := l.Said()
		if said.Commit != verdict.Commit || said.State != verdict.State && verdict.State != Pending {
			t.Fatalf("seed %d: said %+v, and it is %+v", seed, said, verdict)
		}
		for _, i := range now {
			if got := l.saidOf(i.Name); got != i.State {
				t.Fatalf("seed %d: %s was said to be %s, and is %s", seed, i.Name, got, i.State)
			}
		}
		for name := range said.Instances {
			if !slices.ContainsFunc(now, func(i Instance) bool { return i.Name == name }) {
				t.Fatalf("seed %d: %s is remembered, and gone", seed, name)
			}
		}
	}
}
