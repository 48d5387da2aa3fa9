package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
)

const (
	minReconnect = 100 * time.Millisecond
	maxReconnect = 5 * time.Second
)

// eventKinds are what is listened to. Many edits make no event (autostart, nearly everything with --config, live link
// state and vCPUs), so events only say when to look, and what XML is certainly old; they are never the truth.
// Changes of the balloon are left out, because a guest may make many; they change libvirt's status files.
var eventKinds = []libvirt.DomainEventID{
	libvirt.DomainEventIDLifecycle,
	libvirt.DomainEventIDReboot,
	libvirt.DomainEventIDWatchdog,
	libvirt.DomainEventIDIoErrorReason,
	libvirt.DomainEventIDControlError,
	libvirt.DomainEventIDBlockJob,
	libvirt.DomainEventIDDiskChange,
	libvirt.DomainEventIDTrayChange,
	libvirt.DomainEventIDDeviceAdded,
	libvirt.DomainEventIDDeviceRemoved,
	libvirt.DomainEventIDDeviceRemovalFailed,
	libvirt.DomainEventIDAgentLifecycle,
	libvirt.DomainEventIDMetadataChange,
}

// upkeep keeps a connection for events until the context ends.
func (r *Runner) upkeep(ctx context.Context) {
	wait := minReconnect
	for ctx.Err() == nil {
		began := time.Now()
		err := r.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxReconnect {
			wait = minReconnect
		}
		r.log.Warn("no events from libvirt", "error", err, "again_in", wait)
		// Jitter keeps the agents of a host that came back from knocking all at once.
		pause(ctx, wait/2+rand.N(wait))
		wait = min(2*wait, maxReconnect)
	}
}

// listen subscribes on a connection of its own and passes events on until that connection ends. A subscription is
// never cancelled while it lives: go-libvirt can block for good when that is done while events come. The connection is
// dropped as a whole instead, and the channels are drained until they close.
func (r *Runner) listen(ctx context.Context) error {
	c, err := r.endpoint.dial(ctx, r.opts.Deadlines.Connect)
	if err != nil {
		return err
	}
	var drains sync.WaitGroup
	subscriptions, cancel := context.WithCancel(context.Background())
	defer func() {
		c.close()
		<-c.lv.Disconnected() // go-libvirt has stopped reading, and has closed the channels that it knew of
		cancel()              // it did not know of one whose connection went at the very moment of subscribing
		drains.Wait()
	}()
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	hurry := time.AfterFunc(r.opts.Deadlines.Connect, c.close)
	defer hurry.Stop()
	for _, kind := range eventKinds {
		events, err := c.lv.SubscribeEvents(subscriptions, kind, nil)
		switch e := code(err); {
		case e == libvirt.ErrNoSupport || e == libvirt.ErrInvalidArg, errors.Is(err, libvirt.ErrUnsupported):
			// An older daemon, or test:///default, has fewer kinds.
			if kind == libvirt.DomainEventIDLifecycle {
				return fmt.Errorf("cannot listen to libvirt's events: %w", err)
			}
			continue
		case err != nil:
			return fmt.Errorf("cannot listen to libvirt's events: %w", classify(err))
		}
		drains.Go(func() {
			for event := range events {
				r.noteEvent(event)
			}
		})
	}
	if !hurry.Stop() {
		return errLate{r.opts.Deadlines.Connect}
	}
	r.log.Info("listening to libvirt", "uri", string(r.endpoint.driver), "socket", r.endpoint.socket)
	// What happened before this moment has made no event. What is cached from before is not trusted, and the wake-up
	// has everything looked at.
	r.cache.subscribed(true)
	defer r.wakeUp()
	defer r.cache.subscribed(false)
	r.wakeUp()
	select {
	case <-c.gone():
		return classed{ErrDisconnected, errors.New("libvirt's daemon closed the connection")}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// noteEvent marks what is known of the event's domain as old, and wakes.
func (r *Runner) noteEvent(event any) {
	if domain, ok := domainOf(event); ok {
		r.cache.spoil(domain.UUID)
	} else {
		r.cache.spoilAll()
	}
	r.wakeUp()
}

func domainOf(event any) (libvirt.Domain, bool) {
	switch e := event.(type) {
	case *libvirt.DomainEventCallbackLifecycleMsg:
		return e.Msg.Dom, true
	case *libvirt.DomainEventCallbackRebootMsg:
		return e.Msg.Dom, true
	case *libvirt.DomainEventCallbackWatchdogMsg:
		return e.Msg.Dom, true
	case *libvirt.DomainEventCallbackIOErrorReasonMsg:
		return e.Msg.Dom, true
	case *libvirt.DomainEventCallbackControlErrorMsg:
		return e.Msg.Dom, true
	case *libvirt.DomainEventCallbackBlockJobMsg:
		return e.Msg.Dom, true
	case *libvirt.DomainEventCallbackDiskChangeMsg:
		return e.Msg.Dom, true
	case *libvirt.DomainEventCallbackTrayChangeMsg:
		return e.Msg.Dom, true
	case *libvirt.DomainEventCallbackDeviceAddedMsg:
		return e.Dom, true
	case *libvirt.DomainEventCallbackDeviceRemovedMsg:
		return e.Msg.Dom, true
	case *libvirt.DomainEventCallbackDeviceRemovalFailedMsg:
		return e.Dom, true
	case *libvirt.DomainEventCallbackAgentLifecycleMsg:
		return e.Dom, true
	case *libvirt.DomainEventCallbackMetadataChangeMsg:
		return e.Dom, true
	}
	return libvirt.Domain{}, false
}
