package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a configuration file rests before it is read: editors write in several steps.
const settle = 200 * time.Millisecond

// supervise runs an agent, and another one in its place when the configuration file says something else. A file that
// cannot be used is refused, and the agent goes on as it was. The machines do not notice.
func supervise(ctx context.Context, set settings, log *slog.Logger, reload func() (settings, error), file string) error {
	if os.Getenv("GOGC") == "" {
		// An agent is idle nearly always: it shall cost its host little memory rather than little time.
		debug.SetGCPercent(25)
	}
	changed, stop := watchFile(file, log)
	defer stop()
	hangup, end := hangups()
	defer end()
	for {
		a, err := newAgent(set, set.storeDir(), log)
		if err != nil {
			return err
		}
		running, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- a.run(running, hangup) }()
		next, again := set, false
		for !again {
			select {
			case err := <-ended:
				cancel()
				return err
			case <-changed:
				if next, err = reload(); err != nil {
					log.Error("the configuration file is refused, and the old one kept", "error", err)
				} else {
					again = !reflect.DeepEqual(next, set)
				}
			}
		}
		log.Info("the configuration changed")
		set = next
		cancel()
		if err := <-ended; err != nil {
			return err
		}
	}
}

// watchFile receives a little after the file has changed. The folder is watched: files are replaced by renaming.
func watchFile(file string, log *slog.Logger) (<-chan time.Time, func()) {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(filepath.Dir(file))
	}
	if err != nil {
		log.Info("the configuration file is not watched", "file", file, "reason", err)
		if w != nil {
			_ = w.Close()
		}
		return nil, func() {}
	}
	out, ended := make(chan time.Time, 1), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(time.Hour)
		timer.Stop()
		for {
			select {
			case e, ok := <-w.Events:
				if !ok {
					return
				}
				if filepath.Base(e.Name) == filepath.Base(file) {
					timer.Reset(settle)
				}
			case <-w.Errors:
			case t := <-timer.C:
				select {
				case out <- t:
				default:
				}
			}
		}
	}()
	return out, func() {
		_ = w.Close()
		<-ended
	}
}

// configFile is the file that is watched.
func configFile(named string) string {
	if named == "" {
		return defaultConfig
	}
	return named
}
