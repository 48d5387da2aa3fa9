package sender

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gitvirt/gitvirt/reconcile/notice"
)

// timeout bounds one request.
const timeout = 15 * time.Second

// Options are what a sender works with.
type Options struct {
	Targets []Target
	// Host, Fleet and Branch, which is empty where tags are followed, are said in notices; Version is the program's.
	Host, Fleet, Branch, Version string
	// StateFile keeps what was said, so that an agent that begins again does not repeat it.
	StateFile string
	// BackOff is how long to wait after so many failures.
	BackOff func(attempts int) time.Duration
	// Timeout bounds one request; 15 s when it is 0.
	Timeout time.Duration
	Logger  *slog.Logger
	// Registerer gets gitvirt_notices_total.
	Registerer prometheus.Registerer
}

// Sender tells targets. Its methods may be called from several goroutines.
type Sender struct {
	opts    Options
	who     who
	notices *prometheus.CounterVec
	kept    *kept
	lines   []*speaker
}

// The results that are counted.
const (
	success = "success"
	failure = "error"
	dropped = "dropped" // too much waited
)

// New makes a sender, and reads what was said before.
func New(o Options) (*Sender, error) {
	if o.Timeout == 0 {
		o.Timeout = timeout
	}
	s := &Sender{opts: o, who: who{o.Host, o.Fleet, o.Branch, o.Version}}
	s.notices = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gitvirt_notices_total", Help: "Requests that tell others of revisions and instances, by result.",
	}, []string{"provider", "result"})
	var err error
	if s.kept, err = load(o.StateFile); err != nil {
		o.Logger.Warn("what was told before may be told again", "error", err)
	}
	keys := map[string]bool{}
	for n, t := range o.Targets {
		if err := t.Validate(); err != nil {
			return nil, fmt.Errorf("notices[%d]: %w", n, err)
		}
		if keys[t.key()] {
			return nil, fmt.Errorf("notices[%d]: it is there twice: take one out", n)
		}
		keys[t.key()] = true
		s.lines = append(s.lines, &speaker{
			sender: s, target: t, ledger: notice.NewLedger(s.kept.said(t.key())), news: make(chan struct{}, 1),
		})
		for _, result := range []string{success, failure, dropped} {
			s.notices.WithLabelValues(string(t.Provider), result)
		}
	}
	s.kept.only(keys)
	o.Registerer.MustRegister(s.notices)
	return s, nil
}

// News is what a pass found.
type News struct {
	Verdict notice.Verdict
	// Known says that there is a verdict, and that the instances were seen.
	Known     bool
	Instances []notice.Instance
	// Refused is the commit that does not come into force; nil when there is none.
	Refused *notice.Verdict
	Time    time.Time
}

// Publish takes what a pass found. It waits for nobody.
func (s *Sender) Publish(n News) {
	for _, l := range s.lines {
		l.publish(n)
	}
}

// Run tells until the context ends, and returns when no request is under way any more.
func (s *Sender) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, l := range s.lines {
		all.Go(func() { l.run(ctx) })
	}
}

// Flush tells what waits, each target as long as it listens: for an agent that makes one pass and ends.
func (s *Sender) Flush(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, l := range s.lines {
		all.Go(func() {
			for more := true; more; {
				var t *trouble
				more, t = l.one(ctx)
				more = more && (t == nil || t.forGood)
			}
		})
	}
}

// speaker tells one target.
type speaker struct {
	sender *Sender
	target Target
	news   chan struct{} // has a note when there may be something to tell

	mu     sync.Mutex
	ledger *notice.Ledger
	last   string // the trouble that was logged last
}

func (l *speaker) publish(n News) {
	l.mu.Lock()
	lost := 0
	if n.Refused != nil {
		lost += l.ledger.Refused(*n.Refused, n.Time)
	}
	if n.Known {
		lost += l.ledger.Verdict(n.Verdict, n.Time)
	}
	if n.Known && l.target.Provider == Generic {
		lost += l.ledger.Instances(n.Instances, n.Verdict.Commit, n.Time)
	}
	l.mu.Unlock()
	l.sender.notices.WithLabelValues(string(l.target.Provider), dropped).Add(float64(lost))
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// run tells one notice after the other. A target that fails is left alone for longer and longer, and hears then what is the
// newest.
func (l *speaker) run(ctx context.Context) {
	failures := 0
	for {
		more, t := l.one(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case !more:
			select {
			case <-ctx.Done():
				return
			case <-l.news:
			}
		case t == nil || t.forGood:
			failures = 0
		default:
			failures++
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(t.later+rand.N(t.later/4+1), l.sender.opts.BackOff(failures))): // not all agents at one moment
			}
		}
	}
}

// one tells the next notice; more is false when there is none.
func (l *speaker) one(ctx context.Context) (more bool, t *trouble) {
	l.mu.Lock()
	n, more := l.ledger.Next()
	l.mu.Unlock()
	if !more {
		return false, nil
	}
	t = l.target.post(ctx, n, l.sender.who, l.sender.opts.Timeout)
	if t != nil && ctx.Err() != nil {
		return true, t // we were told to end: that is not the target's fault
	}
	l.sender.count(l.target.Provider, t)
	l.note(n, t)
	if t != nil && !t.forGood {
		return true, t
	}
	l.mu.Lock()
	l.ledger.Told(n)
	said := l.ledger.Said()
	l.mu.Unlock()
	if err := l.sender.kept.keep(l.target.key(), said); err != nil {
		l.sender.opts.Logger.Warn("what was told may be told again", "error", err)
	}
	return true, t
}

func (s *Sender) count(p Provider, t *trouble) {
	result := success
	if t != nil {
		result = failure
	}
	s.notices.WithLabelValues(string(p), result).Inc()
}

// note logs a trouble once, and not at each try.
func (l *speaker) note(n notice.Notice, t *trouble) {
	text := ""
	if t != nil {
		text = t.Error()
	}
	if text != "" && text != l.last {
		l.sender.opts.Logger.Warn("a notice is not taken", "provider", l.target.Provider, "commit", n.Commit, "again", !t.forGood, "error", text)
	}
	l.last = text
}
