package policy

import (
	"cmp"
	"fmt"
	"slices"
)

// Machine is one of a host's machines, as far as the host's ceilings are concerned.
type Machine struct {
	Name string
	// Size is what it is to have. Has is what it has: what is defined in libvirt; nil when there is nothing.
	Size Size
	Has  *Size
	// Active says that it runs, On that it is to.
	Active, On bool
	// Ran says that it ran before in the run that is wanted: it comes back, and does not begin.
	Ran bool
	// Same says that what is there is what is wanted.
	Same bool
	// Refused says that another rule forbids what is wanted.
	Refused bool
}

// Verdict is what the host's ceilings say of a machine.
type Verdict struct {
	Refusals []Refusal
	// Start says that what is defined may be started, though what is wanted may not.
	Start bool
}

// Admit lets machines onto a host for as long as its ceilings allow: first those that run, as they run, then those that
// come back, then what grows and what begins, by name. So a new machine never takes the place of another. The same
// machines give the same answer.
func Admit(limits Limits, machines []Machine) map[string]Verdict {
	order := slices.Clone(machines)
	slices.SortFunc(order, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	verdicts := map[string]Verdict{}
	used := Size{}
	for _, m := range order { // what is there, stays
		if m.Has != nil {
			used.Disk = sum(used.Disk, m.Has.Disk)
		}
		if m.Active && m.Has != nil {
			used.CPUs, used.Memory = sum(used.CPUs, m.Has.CPUs), sum(used.Memory, m.Has.Memory)
		}
	}
	for _, m := range order {
		needs, has := Size{Disk: m.Size.Disk}, Size{}
		if m.On {
			needs.CPUs, needs.Memory = m.Size.CPUs, m.Size.Memory
		}
		if m.Has != nil {
			has.Disk = m.Has.Disk
		}
		if m.Active && m.Has != nil {
			has.CPUs, has.Memory = m.Has.CPUs, m.Has.Memory
		}
		v := Verdict{}
		if !m.Refused {
			v.Refusals = limits.exceeded(used, has, needs)
		}
		switch {
		case !m.Refused && len(v.Refusals) == 0:
			used.grow(has, needs)
		case m.Has == nil || m.Same:
		case m.Active:
			v.Start = true
		case m.On:
			old := Size{CPUs: m.Has.CPUs, Memory: m.Has.Memory, Disk: has.Disk}
			if len(limits.exceeded(used, has, old)) == 0 {
				v.Start = true
				used.grow(has, old)
			}
		}
		if len(v.Refusals) > 0 || v.Start {
			verdicts[m.Name] = v
		}
	}
	return verdicts
}

func rank(m Machine) int {
	switch {
	case m.Active:
		return 0
	case m.Ran:
		return 1
	}
	return 2
}

// grow puts what a machine is to have in place of what it has.
func (s *Size) grow(has, needs Size) {
	s.CPUs = sum(s.CPUs, max(needs.CPUs-has.CPUs, 0))
	s.Memory = sum(s.Memory, max(needs.Memory-has.Memory, 0))
	s.Disk = sum(s.Disk, max(needs.Disk-has.Disk, 0))
}

// exceeded are the ceilings that a machine would break by growing. One that does not grow breaks none.
func (l Limits) exceeded(used, has, needs Size) (found []Refusal) {
	next := used
	next.grow(has, needs)
	check := func(rule, field, what string, has, needs, total, most int64, text func(int64) string) {
		if most > 0 && needs > has && total > most {
			found = append(found, Refusal{Rule: rule, Field: field, Value: text(needs), Message: fmt.Sprintf(
				"with it the machines of this host would have %s %s, and policy.limits.host of the agent's file allows %s", text(total), what, text(most))})
		}
	}
	check(ruleHostCPUs, "domain.cpu", "vCPUs", has.CPUs, needs.CPUs, next.CPUs, l.CPUs, plain)
	check(ruleHostMemory, "domain.memory", "of memory", has.Memory, needs.Memory, next.Memory, l.Memory, binary)
	check(ruleHostDisk, "volumes", "of disks", has.Disk, needs.Disk, next.Disk, l.Disk, binary)
	return found
}
