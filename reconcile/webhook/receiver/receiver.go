package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/gitvirt/gitvirt/reconcile/webhook"
)

const (
	// atOnce is how many deliveries are read at the same time: each keeps up to 256 KiB of its body.
	atOnce = 16
	// patience is how long one waits for its turn, before its sender is told to come again.
	patience = 3 * time.Second
)

// Options are what a receiver works with.
type Options struct {
	// Secrets are asked for at each delivery, so that new ones need no restart.
	Secrets func() (webhook.Secrets, error)
	// Follows says whether a ref, by its full name, is the one that the agent follows.
	Follows func(ref string) bool
	// Trigger asks the repository at once. It does not wait for the answer.
	Trigger func()
	// Spacing is the least time between two calls of Trigger.
	Spacing time.Duration
	Logger  *slog.Logger
	// Registerer gets gitvirt_webhook_requests_total.
	Registerer prometheus.Registerer
}

// Receiver is an http.Handler of deliveries.
type Receiver struct {
	opts     Options
	turns    *semaphore.Weighted
	asked    chan struct{} // has a note while a fetch is owed
	requests *prometheus.CounterVec

	mu   sync.Mutex
	last string // the error of the secrets that was logged last
}

// New makes a receiver. Nothing is triggered while Run does not run.
func New(o Options) *Receiver {
	r := &Receiver{opts: o, turns: semaphore.NewWeighted(atOnce), asked: make(chan struct{}, 1)}
	r.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gitvirt_webhook_requests_total", Help: "Webhook requests, by whose form they have, and what became of them.",
	}, []string{"provider", "result"})
	o.Registerer.MustRegister(r.requests)
	return r
}

// Run triggers until the context ends: at once when a fetch is owed and none was lately; else once, at the end of the
// spacing, for all that came meanwhile. So the last push is never missed, and a flood costs no more than one push for
// each spacing.
func (r *Receiver) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.asked:
		}
		r.opts.Trigger()
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.opts.Spacing):
		}
	}
}

// The results that are counted.
const (
	triggered = "triggered"
	ignored   = "ignored"
	ping      = "ping"
	refused   = "refused"
	invalid   = "invalid"
	tooLong   = "too_long"
	busy      = "busy"
	failed    = "error" // ours
)

// ServeHTTP answers one delivery. It waits for no fetch.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		reply(w, http.StatusMethodNotAllowed, "a webhook is posted")
		return
	}
	ctx, cancel := context.WithTimeout(q.Context(), patience)
	defer cancel()
	if r.turns.Acquire(ctx, 1) != nil {
		r.count(webhook.ProviderOf(q.Header), busy)
		w.Header().Set("Retry-After", "5")
		reply(w, http.StatusTooManyRequests, "too many at once: try again later")
		return
	}
	defer r.turns.Release(1)
	secrets, err := r.opts.Secrets()
	r.note(err)
	if err != nil {
		r.count(webhook.ProviderOf(q.Header), failed)
		reply(w, http.StatusServiceUnavailable, "the agent cannot read its secret: its log says why")
		return
	}
	p, err := webhook.Read(q.Header, q.Body, secrets)
	switch {
	case errors.Is(err, webhook.ErrRefused):
		r.count(p.Provider, refused)
		reply(w, http.StatusUnauthorized, "no right signature or token: is the secret the one in the agent's file?")
	case errors.Is(err, webhook.ErrTooLong):
		r.count(p.Provider, tooLong)
		reply(w, http.StatusRequestEntityTooLarge, err.Error())
	case errors.Is(err, webhook.ErrType):
		r.count(p.Provider, invalid)
		reply(w, http.StatusUnsupportedMediaType, err.Error())
	case err != nil:
		r.count(p.Provider, invalid)
		reply(w, http.StatusBadRequest, err.Error())
	case p.Kind == webhook.Ping:
		r.count(p.Provider, ping)
		reply(w, http.StatusOK, "the secret is right; a push will have the repository asked at once")
	case !p.Concerns(r.opts.Follows):
		r.count(p.Provider, ignored)
		reply(w, http.StatusOK, "ignored: this is no push of the branch that the agent follows")
	default:
		r.count(p.Provider, triggered)
		select {
		case r.asked <- struct{}{}:
		default: // it is owed already
		}
		reply(w, http.StatusAccepted, "the repository is asked")
	}
}

// note logs what is wrong with the secrets once, and not at each delivery.
func (r *Receiver) note(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if text != r.last && text != "" {
		r.opts.Logger.Error("webhooks are refused", "error", err)
	}
	r.last = text
}

func (r *Receiver) count(p webhook.Provider, result string) {
	r.requests.WithLabelValues(string(p), result).Inc()
}

func reply(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message}) // the sender may have gone
}
