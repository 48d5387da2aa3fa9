package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"
)

const (
	// maxPings is how many guests are asked about at once: where an agent has to answer, each holds one of libvirt's workers
	// until it does, or its time is over.
	maxPings = 3
	// agentTime is how long libvirt itself waits for an agent to get in step, before it asks it anything.
	agentTime = 5 * time.Second
)

// execPoll is how often the agent is asked whether a command has ended.
const execPoll = 200 * time.Millisecond

// Ping asks the guest's agent whether it is there, and waits for so long (in whole seconds, 1 to 5). One whose channel is not
// open fails at once. Libvirt's own check that the agent is in step comes first, and can take 5 s more.
func (r *Runner) Ping(ctx context.Context, id string, timeout time.Duration) error {
	return r.tellAgent(ctx, id, timeout, "guest-ping", nil, nil)
}

// Exec has the guest's agent run a command, and waits for so long that it ends. The error is nil when it exited with 0. What
// it prints is not read. One that takes longer goes on in the guest.
func (r *Runner) Exec(ctx context.Context, id string, command []string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout+agentTime, fmt.Errorf("it has not ended within %v", timeout))
	defer cancel()
	var started struct{ PID int64 }
	if err := r.tellAgent(ctx, id, timeout, "guest-exec", map[string]any{"path": command[0], "arg": command[1:]}, &started); err != nil {
		return err
	}
	begun := time.Now()
	for {
		var status struct {
			Exited   bool
			ExitCode int
			Signal   int
		}
		if err := r.tellAgent(ctx, id, timeout, "guest-exec-status", map[string]any{"pid": started.PID}, &status); err != nil {
			return err
		}
		switch {
		case status.Signal != 0:
			return fmt.Errorf("it was ended by signal %d", status.Signal)
		case status.Exited && status.ExitCode == 0:
			return nil
		case status.Exited:
			return fmt.Errorf("it exited with %d", status.ExitCode)
		case time.Since(begun) > timeout:
			return fmt.Errorf("it has not ended within %v", timeout)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(execPoll):
		}
	}
}

// tellAgent makes the agent do one command of QEMU's guest agent protocol. What it returns goes into result, if that is
// not nil.
func (r *Runner) tellAgent(ctx context.Context, id string, timeout time.Duration, execute string, arguments, result any) error {
	command := map[string]any{"execute": execute}
	if arguments != nil {
		command["arguments"] = arguments
	}
	text, err := json.Marshal(command)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", execute, err)
	}
	seconds := int32(min(max(timeout, time.Second), agentTime) / time.Second)
	answer, err := ofAgent(ctx, r, id, func(lv *libvirt.Libvirt, d libvirt.Domain) (libvirt.OptString, error) {
		return lv.QEMUDomainAgentCommand(d, string(text), seconds, 0)
	})
	if err != nil || result == nil {
		return err
	}
	if len(answer) == 0 {
		return fmt.Errorf("the agent answers %s with nothing", execute)
	}
	returned := struct{ Return any }{result}
	if err := json.Unmarshal([]byte(answer[0]), &returned); err != nil {
		return fmt.Errorf("cannot read the agent's answer to %s: %w", execute, err)
	}
	return nil
}

// ofAgent asks a guest's agent, when its turn has come.
func ofAgent[T any](ctx context.Context, r *Runner, id string, f func(*libvirt.Libvirt, libvirt.Domain) (T, error)) (T, error) {
	if err := r.pings.Acquire(ctx, 1); err != nil {
		var none T
		return none, context.Cause(ctx)
	}
	defer r.pings.Release(1)
	return ofGuest(ctx, r, id, f)
}

// ofGuest asks about one guest, unless its QEMU is known not to answer.
func ofGuest[T any](ctx context.Context, r *Runner, id string, f func(*libvirt.Libvirt, libvirt.Domain) (T, error)) (T, error) {
	var none T
	known, err := uuid.Parse(id)
	if err != nil {
		return none, fmt.Errorf("its UUID %q is none: %w", id, err)
	}
	d := libvirt.Domain{UUID: libvirt.UUID(known), ID: -1}
	if r.suspects.has(id) || r.calls.unread(id) {
		return none, classed{ErrStuck, errors.New("its QEMU does not answer libvirt")}
	}
	// A late answer says nothing of QEMU: it is the guest that did not answer.
	return call(ctx, r.reads, r.opts.Deadlines.Read+2*agentTime, watcher{}, func(lv *libvirt.Libvirt) (T, error) { return f(lv, d) })
}
