package notice

import (
	"maps"
	"slices"
	"time"
)

// maxWaiting bounds what waits to be told. Beyond it the oldest is dropped.
const maxWaiting = 1024

// Notice is one thing to tell.
type Notice struct {
	// Instance is whom it is about; empty for the revision.
	Instance string
	// Commit is the revision in force; or, when Refused, one that does not come into force.
	Commit  string
	Refused bool
	State   State
	Text    string
	Time    time.Time
}

func (n Notice) key() string {
	if n.Instance != "" {
		return "instance " + n.Instance
	}
	return "commit " + n.Commit
}

// Said is what somebody was told last. It outlives the agent, so that nothing is told twice.
type Said struct {
	Commit string `json:"commit,omitempty"`
	State  State  `json:"state,omitempty"`
	// Refused is the last commit that was said not to come into force.
	Refused string `json:"refused,omitempty"`
	// Instances are those that were not said to be Ready.
	Instances map[string]State `json:"instances,omitempty"`
}

// Ledger is what one receiver of notices was told, and is still to be told. Of each commit, and each instance, the newest
// state alone waits. It is not safe for concurrent use.
type Ledger struct {
	said    Said
	waiting map[string]Notice
	order   []string // keys of waiting, the oldest first
	last    string   // the commit of the last notice that waits
	sending string   // the key of the notice that may be told just now
	there   map[string]bool
}

// NewLedger continues after what was said.
func NewLedger(said Said) *Ledger {
	said.Instances = maps.Clone(said.Instances)
	return &Ledger{said: said, waiting: map[string]Notice{}}
}

// Said is what was told, for keeping.
func (l *Ledger) Said() Said {
	said := l.said
	said.Instances = maps.Clone(said.Instances)
	return said
}

// Verdict takes how the revision fares. Transitions alone are told: pending only of a revision of which nothing was told yet,
// so that mending what somebody changed by hand is no news. It returns how many notices were dropped for it.
func (l *Ledger) Verdict(v Verdict, at time.Time) int {
	commit, state := l.said.Commit, l.said.State
	if last, ok := l.waiting["commit "+l.last]; ok && !last.Refused {
		commit, state = last.Commit, last.State
	}
	if v.Commit == commit && (v.State == state || v.State == Pending) {
		return 0
	}
	n := Notice{Commit: v.Commit, State: v.State, Text: v.Text, Time: at}
	if l.last != v.Commit {
		l.drop(n.key()) // it is in force again: its notice comes after those of the commits between
	}
	l.last = v.Commit
	return l.add(n)
}

// Refused takes the commit that does not come into force, which is told once. It returns how many notices were dropped for it.
func (l *Ledger) Refused(v Verdict, at time.Time) int {
	n := Notice{Commit: v.Commit, Refused: true, State: v.State, Text: v.Text, Time: at}
	if l.waiting[n.key()].Refused || l.wasSaid(n) {
		return 0
	}
	return l.add(n)
}

// Instances takes how all of them do. One that is new to the ledger is thought to have been Ready: an agent that begins
// tells what is wrong, and not that a thousand machines run. It returns how many notices were dropped for it.
func (l *Ledger) Instances(all []Instance, commit string, at time.Time) int {
	dropped := 0
	there := make(map[string]bool, len(all))
	tell := func(i Instance) {
		n := Notice{Instance: i.Name, Commit: commit, State: i.State, Text: i.Text, Time: at}
		before, ok := l.waiting[n.key()]
		if ok && before.State != i.State || !ok && !l.wasSaid(n) {
			dropped += l.add(n)
		}
	}
	for _, i := range all {
		there[i.Name] = true
		tell(i)
	}
	gone := maps.Clone(l.there)
	if gone == nil {
		gone = map[string]bool{}
	}
	for name := range l.said.Instances {
		gone[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		if !there[name] {
			tell(Instance{Name: name, State: Removed, Text: "the instance is gone"})
		}
	}
	l.there = there
	return dropped
}

func (l *Ledger) saidOf(instance string) State {
	if s, ok := l.said.Instances[instance]; ok {
		return s
	}
	return Ready
}

// add has a notice wait, in the place of an older one of the same key; or none, when that was said last.
func (l *Ledger) add(n Notice) int {
	key := n.key()
	if l.wasSaid(n) && key != l.sending && !l.commitsWait(n) {
		l.drop(key)
		return 0
	}
	if _, ok := l.waiting[key]; !ok {
		l.order = append(l.order, key)
	}
	l.waiting[key] = n
	if len(l.order) <= maxWaiting {
		return 0
	}
	l.drop(l.order[0])
	return 1
}

// commitsWait says whether others are to be told of before this one: it is news again after them.
func (l *Ledger) commitsWait(n Notice) bool {
	return n.Instance == "" && slices.ContainsFunc(l.order, func(key string) bool {
		w := l.waiting[key]
		return w.Instance == "" && !w.Refused && w.Commit != n.Commit
	})
}

func (l *Ledger) drop(key string) {
	if _, ok := l.waiting[key]; ok {
		delete(l.waiting, key)
		l.order = slices.DeleteFunc(l.order, func(k string) bool { return k == key })
	}
}

// Next is the notice that is to be told first; false when there is none. It waits until it is Told.
func (l *Ledger) Next() (Notice, bool) {
	l.sending = ""
	for len(l.order) > 0 {
		n := l.waiting[l.order[0]]
		if l.wasSaid(n) {
			l.drop(n.key())
			continue
		}
		l.sending = n.key()
		return n, true
	}
	return Notice{}, false
}

func (l *Ledger) wasSaid(n Notice) bool {
	switch {
	case n.Instance != "":
		return n.State == l.saidOf(n.Instance)
	case n.Refused:
		return n.Commit == l.said.Refused
	}
	return n.Commit == l.said.Commit && n.State == l.said.State
}

// Told notes that a notice was told, or that it is of no use to try again. A newer state of the same thing still waits.
func (l *Ledger) Told(n Notice) {
	l.sending = ""
	switch {
	case n.Refused:
		l.said.Refused = n.Commit
	case n.Instance == "":
		l.said.Commit, l.said.State = n.Commit, n.State
	case n.State == Ready || n.State == Removed:
		delete(l.said.Instances, n.Instance)
	default:
		if l.said.Instances == nil {
			l.said.Instances = map[string]State{}
		}
		l.said.Instances[n.Instance] = n.State
	}
	if now, ok := l.waiting[n.key()]; ok && now.State == n.State && now.Refused == n.Refused {
		l.drop(n.key())
	}
}
