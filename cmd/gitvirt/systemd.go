package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// tellSystemd tells the service manager that the agent is there, and then, for as long as passes are made, that it lives
// (sd_notify(3)). Where there is no service manager, it does nothing. The agent counts as ready before its first pass: a
// repository that cannot be reached is no reason for the host's start to wait.
func tellSystemd(ctx context.Context, alive func() bool, log *slog.Logger) {
	if told, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		log.Warn("cannot tell the service manager that the agent is ready", "error", err)
		return
	} else if !told {
		return
	}
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil || limit == 0 {
		if err != nil {
			log.Warn("the service manager's watchdog is not served", "error", err)
		}
		return
	}
	tick := time.NewTicker(limit / 3)
	defer tick.Stop()
	for {
		if alive() {
			if _, err := daemon.SdNotify(false, daemon.SdNotifyWatchdog); err != nil {
				log.Warn("cannot tell the service manager that the agent lives", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// underJournal says whether standard error is the journal's, which notes the time of each line itself (systemd.exec(5)).
func underJournal() bool { return os.Getenv("JOURNAL_STREAM") != "" }
