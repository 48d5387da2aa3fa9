package proxy

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// Kind says what a procedure does to what libvirt manages.
type Kind string

const (
	Read    Kind = "read"    // changes nothing
	Write   Kind = "write"   // changes a definition, a running domain, a volume, or the host
	Refresh Kind = "refresh" // reads a pool's folder again: no declared thing changes
	Session Kind = "session" // opens, closes, authenticates or subscribes a connection
	Event   Kind = "event"   // sent by the daemon only
)

//go:embed procedures.txt
var procedureTable string

// programs are the numbers of libvirt's RPC programs that have procedures for clients.
const (
	remoteProgram = 0x20008086
	qemuProgram   = 0x20008087
)

// procedureID tells a procedure from all others.
type procedureID struct{ program, number uint32 }

// procedure is what a line of procedures.txt says.
type procedure struct {
	name string
	kind Kind
}

// parseProcedures reads procedures.txt.
func parseProcedures(text string) (map[procedureID]procedure, error) {
	programs := map[string]uint32{"remote": remoteProgram, "qemu": qemuProgram}
	table := map[procedureID]procedure{}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 4 || programs[fields[0]] == 0 {
			return nil, fmt.Errorf("cannot read line %d of the procedures: %q", i+1, line)
		}
		number, err := strconv.ParseUint(fields[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("cannot read line %d of the procedures: %w", i+1, err)
		}
		kind := Kind(fields[2])
		switch kind {
		case Read, Write, Refresh, Session, Event:
		default:
			return nil, fmt.Errorf("cannot read line %d of the procedures: no kind %q", i+1, kind)
		}
		table[procedureID{programs[fields[0]], uint32(number)}] = procedure{name: fields[3], kind: kind}
	}
	return table, nil
}

// describe names a call. One that is not in the table counts as a write, so that no new procedure goes unnoticed.
func describe(table map[procedureID]procedure, id procedureID) procedure {
	if p, ok := table[id]; ok {
		return p
	}
	return procedure{name: fmt.Sprintf("procedure %d of program %#x", id.number, id.program), kind: Write}
}
