package proxy

import (
	"bytes"
	"sync"
	"time"
)

// Moment is when a fault happens to a call.
type Moment int

const (
	Before Moment = iota // libvirtd has not seen the call
	After                // libvirtd has done it, and the client has not seen the reply
)

// Verdict is what becomes of the call (Before) or of its reply (After).
type Verdict int

const (
	Pass   Verdict = iota // it goes on its way
	Drop                  // it is lost: the client waits for a reply that never comes
	Cut                   // it is lost, and with it the connection
	CutAll                // it is lost, and with it every connection, as if libvirtd died
)

// Action decides what becomes of a call. While it runs, nothing else passes in that direction of that connection, so
// an action that kills the client kills it at exactly this step.
type Action func(Call) Verdict

// Always returns an action that does nothing but its verdict.
func Always(v Verdict) Action { return func(Call) Verdict { return v } }

// Fault is something that happens to calls. Its zero value passes the next write.
type Fault struct {
	Match  func(Call) bool // which calls count; all writes if nil
	Nth    int             // which of them, counted from the injection; 0 is the first
	Repeat bool            // also every later one
	When   Moment
	Action Action        // Pass if nil
	Delay  time.Duration // how long the call or reply is held after the action, while others on the connection pass
}

// Procedure matches the calls of one procedure, such as "DomainDefineXMLFlags".
func Procedure(name string) func(Call) bool { return func(c Call) bool { return c.Procedure == name } }

// Writes matches the calls that write.
func Writes(c Call) bool { return c.Kind == Write }

// Naming matches what another matcher does, if the call's arguments contain a text: a domain's name, say.
func Naming(text string, match func(Call) bool) func(Call) bool {
	return func(c Call) bool { return match(c) && bytes.Contains(c.Payload, []byte(text)) }
}

// Injected is a fault that waits for its call.
type Injected struct {
	fault Fault
	fired chan struct{} // closed when it has happened for the first time

	mu      sync.Mutex
	seen    int
	removed bool
	call    Call
}

// Fired is closed once the fault has struck.
func (i *Injected) Fired() <-chan struct{} { return i.fired }

// Call returns the call that was struck first. It is the zero Call before that.
func (i *Injected) Call() Call {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.call
}

// Remove ends the fault. What it holds or lost stays so.
func (i *Injected) Remove() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.removed = true
}

// strikes counts a call and says whether the fault is for it.
func (i *Injected) strikes(call Call) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	match := i.fault.Match
	if match == nil {
		match = Writes
	}
	if i.removed || !match(call) {
		return false
	}
	i.seen++
	nth := max(1, i.fault.Nth)
	if i.seen < nth || i.seen > nth && !i.fault.Repeat {
		return false
	}
	if i.seen == nth {
		i.call = call
		close(i.fired)
	}
	return true
}
