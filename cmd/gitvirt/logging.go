package main

import (
	"fmt"
	"io"
	"log/slog"
)

// The forms of log lines.
const (
	logText = "text" // logfmt: key=value
	logJSON = "json"
)

// newLogger writes log lines in the form that the settings say.
func (s settings) newLogger(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{}
	if underJournal() {
		o.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
	}
	if s.LogFormat == logJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

func (s settings) validateLog() error {
	if s.LogFormat != logText && s.LogFormat != logJSON {
		return fmt.Errorf("logFormat %q: say %s or %s", s.LogFormat, logText, logJSON)
	}
	return nil
}
