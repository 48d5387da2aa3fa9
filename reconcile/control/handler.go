package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// PassTime bounds the wait for the repository's answer, and the pass.
	PassTime = 5 * time.Minute
	// MaxWait bounds how long one may wait for what a pass began.
	MaxWait = time.Hour
)

// Answer is how it stands after a pass.
type Answer struct {
	// Revision is the commit in force; empty when there is none.
	Revision string `json:"revision"`
	// InSync says that there is nothing to do, and that all documents are right.
	InSync bool `json:"inSync"`
	// Settled says that waiting longer is of no use: all is in sync, or something stands in the way.
	Settled bool `json:"settled"`
	// Message says in a sentence how it stands.
	Message string `json:"message"`
	// Error says why the repository, or libvirt, could not be asked; empty when both answered.
	Error string `json:"error,omitempty"`
}

// Reconcile has the repository asked and a pass made, and calls show with how it stands after it and after each further
// pass, until show says true, or the context ends.
type Reconcile func(ctx context.Context, show func(Answer) bool) error

// Handler answers POST /reconcile, and leaves all else to others: the read-only API, say.
//
// It answers once the pass is done that was asked for; with ?wait=2m it answers when things have settled, or two minutes
// after that pass at the latest. The code is 200 in sync or not, 503 when the repository or libvirt could not be asked, and
// 504 when there was no pass in time.
func Handler(reconcile Reconcile, others http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /reconcile", func(w http.ResponseWriter, r *http.Request) {
		wait, err := waitOf(r.URL.Query().Get("wait"))
		if err != nil {
			reply(w, http.StatusBadRequest, Answer{Error: err.Error()})
			return
		}
		a, err := ask(r.Context(), reconcile, wait)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			reply(w, http.StatusGatewayTimeout, Answer{Error: fmt.Sprintf("there was no pass within %s: the agent's log may say why", PassTime)})
		case err != nil:
			reply(w, http.StatusServiceUnavailable, Answer{Error: "the agent ends"})
		case a.Error != "":
			reply(w, http.StatusServiceUnavailable, a)
		default:
			reply(w, http.StatusOK, a)
		}
	})
	mux.HandleFunc("/reconcile", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", http.MethodPost)
		reply(w, http.StatusMethodNotAllowed, Answer{Error: "say POST /reconcile"})
	})
	mux.Handle("/", others)
	return mux
}

func waitOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > MaxWait {
		return 0, fmt.Errorf("wait=%.40q: say a time up to %s, such as 90s or 2m", text, MaxWait)
	}
	return wait, nil
}

// ask waits for a pass, and then for the end of what it began.
func ask(ctx context.Context, reconcile Reconcile, wait time.Duration) (Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The first pass has its own time; after it the wait begins.
	timer := time.AfterFunc(PassTime, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	var last *Answer
	err := reconcile(ctx, func(a Answer) bool {
		if last == nil {
			timer.Reset(wait)
		}
		last = &a
		return wait == 0 || a.Settled || a.Error != ""
	})
	switch {
	case last != nil && (err == nil || errors.Is(context.Cause(ctx), context.DeadlineExceeded)):
		return *last, nil
	case err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return Answer{}, context.DeadlineExceeded
	}
	return Answer{}, err
}

func reply(w http.ResponseWriter, code int, a Answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(a) // who asked may have gone
}
