package notice

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
)

// State is how a revision fares on this host, or how an instance does.
type State string

// The states of a revision.
const (
	Pending State = "pending" // the host converges
	Success State = "success" // all is as the revision says, or waits for the next start of a machine
	Failure State = "failure" // a document is broken, an action failed, or something stands in the way
	Held    State = "held"    // it waits for somebody's word: it removes more than the budget lets it, or is not in force
)

// Verdict is how a revision fares.
type Verdict struct {
	Commit string
	State  State
	Text   string // one sentence for people
}

// Judge says how the revision in force fares. It says false when nothing can be said: there is no revision, or libvirt does
// not answer.
func Judge(f status.Facts) (Verdict, bool) {
	v := Verdict{Commit: f.Source.Revision}
	if v.Commit == "" || !f.Libvirt.Up {
		return v, false
	}
	var blocked, held, suspended, stuck, waiting, busy []string
	why := map[string]string{}
	for _, a := range f.Assessments {
		block := worst(a.Blocked)
		why[a.Name] = block.Message
		switch block.Reason {
		case "":
		case "Suspended":
			suspended = append(suspended, a.Name)
		case "RemovalBudget":
			held = append(held, a.Name)
		default:
			blocked = append(blocked, a.Name)
		}
		if a.Phase == plan.PhaseUnknown {
			stuck = append(stuck, a.Name)
		}
		if slices.ContainsFunc(a.Staged, func(s plan.Staged) bool { return s.Restart }) {
			waiting = append(waiting, a.Name)
		}
		if len(a.Actions) > 0 {
			busy = append(busy, a.Name)
		}
	}
	var failing []string
	for _, a := range f.Assessments {
		if fail, ok := f.Failures[a.Name]; ok {
			failing, why[a.Name] = append(failing, a.Name), fail.Message
		}
	}
	tell := func(s State, text string) (Verdict, bool) {
		v.State, v.Text = s, text
		return v, true
	}
	switch {
	case len(f.Documents.Problems) > f.Documents.Unread: // those that are unread come last
		n := len(f.Documents.Problems) - f.Documents.Unread
		return tell(Failure, fmt.Sprintf("%s in the documents: %s", count(n, "problem"), f.Documents.Problems[0]))
	case len(failing) > 0:
		return tell(Failure, fmt.Sprintf("failed at %s: %s", names(failing), why[failing[0]]))
	case f.Documents.Unread > 0: // which blocks machines, too
		return tell(Pending, fmt.Sprintf("reading what machines are pinned to: %s", f.Documents.Problems[0]))
	case len(blocked) > 0:
		return tell(Failure, fmt.Sprintf("blocked: %s: %s", names(blocked), why[blocked[0]]))
	case len(held) > 0:
		return tell(Held, fmt.Sprintf("held: %s: %s", names(held), why[held[0]]))
	case len(suspended) > 0:
		return tell(Pending, fmt.Sprintf("suspended: %s: %s", names(suspended), why[suspended[0]]))
	case len(busy) > 0:
		return tell(Pending, "converging: "+names(busy))
	case len(stuck) > 0:
		return tell(Pending, "libvirt gives no answer about "+names(stuck))
	}
	text := "in sync: " + count(len(f.Assessments), "machine")
	switch len(waiting) {
	case 0:
	case 1:
		text += "; 1 machine waits for a restart"
	default:
		text += fmt.Sprintf("; %d machines wait for a restart", len(waiting))
	}
	return tell(Success, text)
}

// Refused is the commit that the repository has and that does not come into force; false when there is none.
func Refused(f status.Facts) (Verdict, bool) {
	h := f.Source.Held
	if h == nil {
		return Verdict{}, false
	}
	return Verdict{Commit: h.Commit, State: Held, Text: h.Reason}, true
}

// InSync says whether there is nothing to do, and nothing wrong with what was asked for.
func InSync(f status.Facts) bool {
	return f.Source.Error == "" && f.Libvirt.Up && f.Source.Revision != "" && f.Plan.Empty() && len(f.Documents.Problems) == 0
}

// worst is the block that weighs most: one that a person has to mend, then one that waits for a word, then one that ends
// by itself.
func worst(blocks []plan.Block) plan.Block {
	if len(blocks) == 0 {
		return plan.Block{}
	}
	weight := func(b plan.Block) int {
		switch b.Reason {
		case "Suspended":
			return 0
		case "RemovalBudget":
			return 1
		}
		return 2
	}
	return slices.MaxFunc(blocks, func(a, b plan.Block) int { return weight(a) - weight(b) })
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// names are the first few, and how many more there are.
func names(all []string) string {
	const few = 3
	if len(all) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:few], ", "), len(all)-few)
	}
	return strings.Join(all, ", ")
}
