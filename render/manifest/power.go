package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// Verb is what a person asks for of a machine.
type Verb string

// The verbs.
const (
	Start   Verb = "start"
	Stop    Verb = "stop"
	Pause   Verb = "pause"
	Restart Verb = "restart"
	Move    Verb = "move"
)

// Change is an edit of the document that says whether a machine runs, and where.
type Change struct {
	At Origin // of the document
	// Kind and Name are the document's, as it is written.
	Kind, Name string
	// Fields are what to write; nothing when the document says it already.
	Fields []Assignment
	// State, Run and Host are what it says then; Run is 0 where a document has no number of runs.
	State PowerState
	Run   int64
	Host  string
}

// Change finds out how a machine's documents have to change for it to be started, stopped, paused, restarted, or moved to a
// host; text gives the content of a file. It is asked by the name of a RunState, of a group, or of a KubeVirt machine.
func (s *Set) Change(verb Verb, name, host string, text func(file string) ([]byte, error)) (Change, error) {
	if r := s.RunStates[name]; r != nil {
		c := Change{At: r.At, Kind: r.Written.Kind, Name: name, State: powerOf(r.Spec.State), Run: max(r.Spec.Run, 1), Host: r.Spec.Host}
		if c.Kind != KindRunState {
			return c.ofKubeVirt(verb, text)
		}
		return c.ofOurs(verb, host)
	}
	if g := s.Groups[name]; g != nil {
		c := Change{At: g.At, Kind: g.Written.Kind, Name: name, State: powerOf(g.Spec.State), Run: max(g.Spec.Run, 1)}
		if c.Kind != KindGroup {
			return c.ofKubeVirt(verb, text)
		}
		if verb == Move {
			return c, fmt.Errorf("%s is a group: its hosts and replicas say where its members are; edit them in %s", name, c.place())
		}
		return c.ofOurs(verb, "")
	}
	if group, _, ok := cutIndex(name); ok && s.Groups[group] != nil {
		return Change{}, fmt.Errorf("%s is a member of the group %s, which has one state for all: say gitvirt %s %s", name, group, verb, group)
	}
	for _, p := range s.Problems {
		if p.Name == name {
			return Change{}, fmt.Errorf("the documents of %s cannot be read: %s", name, p)
		}
	}
	if s.Find(KindConfig, name) != nil {
		return Change{}, fmt.Errorf("no RunState says where %s is to run: write one, with config: %s and host", name, name)
	}
	return Change{}, fmt.Errorf("there is no RunState and no group named %s", name)
}

// powerOf is the state that a document says, which may leave it out.
func powerOf(s PowerState) PowerState {
	if s == "" {
		return StateRunning
	}
	return s
}

// cutIndex divides NAME-N.
func cutIndex(name string) (string, int, bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(name[dash+1:])
	return name[:dash], n, err == nil && n >= 0
}

func (c Change) place() string { return fmt.Sprintf("%s:%d", c.At.File, c.At.Line) }

// ofOurs changes a RunState or a group.
func (c Change) ofOurs(verb Verb, host string) (Change, error) {
	state := func(to PowerState) {
		if c.State != to {
			c.State = to
			c.Fields = append(c.Fields, Assignment{"spec.state", string(to)})
		}
	}
	switch verb {
	case Start:
		state(StateRunning)
	case Stop:
		state(StateStopped)
	case Pause:
		state(StatePaused)
	case Restart:
		if c.State == StateStopped {
			return c, fmt.Errorf("%s is to be stopped (%s): say gitvirt start %s", c.Name, c.place(), c.Name)
		}
		c.Run++
		c.Fields = append(c.Fields, Assignment{"spec.run", strconv.FormatInt(c.Run, 10)})
	case Move:
		if c.Host == "" {
			return c, fmt.Errorf("the RunState %s says its placement, and no host: edit it in %s", c.Name, c.place())
		}
		if c.Host != host {
			c.Host = host
			c.Fields = append(c.Fields, Assignment{"spec.host", host})
		}
	default:
		return c, fmt.Errorf("%q is nothing that can be done with a machine", verb)
	}
	return c, nil
}

// ofKubeVirt changes what a manifest of KubeVirt's says of running.
func (c Change) ofKubeVirt(verb Verb, text func(string) ([]byte, error)) (Change, error) {
	said := func(why string) (Change, error) {
		return c, fmt.Errorf("%s is of kind %s (%s), %s: write a VirtualMachineInstanceConfig and a RunState in its place", c.Name, c.Kind, c.place(), why)
	}
	switch {
	case c.Kind != KindVirtualMachine:
		return said("which does not say whether it runs")
	case verb != Start && verb != Stop:
		return said("which can be started and stopped only")
	}
	want := map[Verb]PowerState{Start: StateRunning, Stop: StateStopped}[verb]
	c.Run = 0
	if c.State == want {
		return c, nil
	}
	c.State = want
	data, err := text(c.At.File)
	if err != nil {
		return c, err
	}
	c.Fields = []Assignment{{"spec.running", strconv.FormatBool(verb == Start)}}
	if root := nth(data, c.At.Index); root != nil {
		if _, spec := own(root, "spec"); spec != nil {
			if _, strategy := own(spec, "runStrategy"); strategy != nil {
				c.Fields = []Assignment{{"spec.runStrategy", map[Verb]string{Start: "Always", Stop: "Halted"}[verb]}}
			}
		}
	}
	return c, nil
}
