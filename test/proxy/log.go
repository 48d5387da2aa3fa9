package proxy

import (
	"slices"
	"sync"
)

// Call is a call that a client made.
type Call struct {
	Connection int    // which of the client's connections, from 1
	Procedure  string // libvirt's name, such as "DomainDefineXMLFlags"
	Kind       Kind
	Payload    []byte // the arguments, XDR encoded; not to be changed
	Answered   bool   // whether libvirtd has answered
	Failed     bool   // whether it answered with an error
}

// record is the ordered log of calls.
type record struct {
	mu    sync.Mutex
	calls []*Call
}

func (r *record) add(call Call) *Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, &call)
	return &call
}

// answer notes the reply to a call, and returns a copy of it.
func (r *record) answer(call *Call, failed bool) Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	call.Answered, call.Failed = true, failed
	return *call
}

func (r *record) snapshot() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := make([]Call, len(r.calls))
	for i, call := range r.calls {
		calls[i] = *call
	}
	return calls
}

func (r *record) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = nil
}

// Calls returns all calls since the last Reset in the order in which they came, the struck ones included.
func (p *Proxy) Calls() []Call { return p.record.snapshot() }

// Writes returns the calls that write, since the last Reset.
func (p *Proxy) Writes() []Call {
	return slices.DeleteFunc(p.Calls(), func(c Call) bool { return c.Kind != Write })
}

// Counts returns how often each procedure was called since the last Reset.
func (p *Proxy) Counts() map[string]int {
	counts := map[string]int{}
	for _, call := range p.Calls() {
		counts[call.Procedure]++
	}
	return counts
}

// Names returns the procedures of calls, in their order; for messages.
func Names(calls []Call) []string {
	var names []string
	for _, call := range calls {
		names = append(names, call.Procedure)
	}
	return names
}

// Reset forgets the calls so far. Faults stay.
func (p *Proxy) Reset() { p.record.reset() }

// Connections returns how many connections the calls so far came from.
func (p *Proxy) Connections() int {
	seen := map[int]bool{}
	for _, call := range p.Calls() {
		seen[call.Connection] = true
	}
	return len(seen)
}
