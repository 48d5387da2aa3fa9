package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/reconcile/address"
	"github.com/gitvirt/gitvirt/reconcile/notice/sender"
	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/probe"
	"github.com/gitvirt/gitvirt/reconcile/stats"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/reconcile/webhook/receiver"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/source"
)

func agentCommand() *cobra.Command {
	var file string
	var once bool
	s := defaults()
	c := &cobra.Command{
		Use:   "agent",
		Short: "Run what the repository says on this host",
		Long: `Agent follows a branch of the configuration repository and converges this host's libvirt. It ends with SIGTERM, and the
machines go on. SIGHUP asks the repository at once; the configuration file is read again when it changes.`,
		Example: `  gitvirt agent --repo https://git.example.org/vms.git --host kvm1
  gitvirt agent --config /etc/gitvirt/agent.yaml
  gitvirt agent --repo /srv/vms.git --once`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			load := func() (settings, error) { return loadAgent(file, c.Flags()) }
			set, err := load()
			if err != nil {
				return err
			}
			if once {
				return runOnce(c.Context(), set, log, c.OutOrStdout())
			}
			return supervise(c.Context(), set, log, load, configFile(file))
		},
	}
	s.bind(c.Flags())
	c.Flags().StringVar(&file, "config", "", "the configuration file (default "+defaultConfig+", if there is one)")
	c.Flags().BoolVar(&once, "once", false, "make one pass; exit with 0 in sync, 1 not in sync, 2 when it could not")
	return c
}

// agent is everything that one configuration needs.
type agent struct {
	set      settings
	log      *slog.Logger
	source   *source.Source
	runner   *runner.Runner
	loop     *reconcile.Loop
	registry *prometheus.Registry
	server   *status.Server
	receiver *receiver.Receiver // nil without webhooks
	sender   *sender.Sender     // nil without notices
	usage    *stats.Gatherer    // nil when nobody wants statistics
}

// newAgent wires an agent. store is the folder of the repository's objects.
func newAgent(set settings, store string, log *slog.Logger) (*agent, error) {
	open, err := set.vault(store)
	if err != nil {
		return nil, err
	}
	src, err := source.New(source.Options{
		URL: set.Repo, Branch: set.Branch, Path: set.Path, Dir: store, Auth: set.Auth.source(), Logger: log,
		ForcedPush: source.ForcedPush(set.ForcedPush), Verify: set.Verify.source(), Tags: set.Ref.source(),
		Accepted: source.InForce(set.storeDir()),
	})
	if err != nil {
		return nil, err
	}
	run, err := runner.New(runner.Options{
		URI: set.Libvirt, Logger: log, ConfigDir: set.LibvirtConfigDir, StateDir: set.LibvirtStateDir, Secrets: open,
	})
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	a := &agent{set: set, log: log, source: src, runner: run, registry: prometheus.NewRegistry()}
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if set.Listen != "" && set.Statistics > 0 {
		a.usage = stats.New(run, set.Statistics, log)
		a.registry.MustRegister(stats.NewCollector(a.usage))
	}
	sources := status.Sources{
		Runtime: a.runtime,
		Alive:   func() bool { return time.Since(a.loop.Alive()) < 3*set.Interval+time.Minute },
	}
	if a.receiver = a.newReceiver(); a.receiver != nil {
		sources.Webhook = a.receiver
	}
	a.server = status.NewServer(a.registry, sources)
	if a.sender, err = a.newSender(); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	allowed, err := set.Policy.policy()
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	a.loop, err = reconcile.New(reconcile.Options{
		Policy:      allowed,
		DefaultHost: set.DefaultHost, CacheDir: set.cacheDir(),
		Host: set.Host, Fleet: set.Fleet, URL: src.URL(), Branch: set.Branch, Interval: set.Interval, Budget: set.RemovalBudget,
		StateFile: filepath.Join(set.StateDir, "state.json"), Version: version(),
		Source: src, Secrets: open, Runner: libvirt{run, set.DomainType}, Resources: run, Prober: probe.New(run), Addresses: address.New(run), Logger: log, Metrics: status.NewMetrics(a.registry),
		Publish: a.publish,
		Refused: func(err error) bool { return errors.Is(err, runner.ErrInvalid) },
	})
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return a, nil
}

// libvirt is a runner as the loop takes it.
type libvirt struct {
	*runner.Runner
	domainType string
}

func (l libvirt) DomainType(ctx context.Context) (string, error) {
	if l.domainType != "auto" {
		return l.domainType, nil
	}
	c, err := l.Capabilities(ctx)
	return c.DomainType, err
}

// run runs the agent until the context ends.
func (a *agent) run(ctx context.Context, hangup <-chan os.Signal) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	listener, err := a.listen()
	if err != nil {
		return errors.Join(err, a.source.Close())
	}
	if listener != nil {
		wg.Go(func() { a.serve(ctx, status.NoCrowd(listener)) })
	}
	local, err := a.listenLocally()
	if err != nil {
		stop()
		return errors.Join(err, a.source.Close())
	}
	if local != nil {
		wg.Go(func() { a.serveLocally(ctx, local) })
	}
	if a.receiver != nil {
		wg.Go(func() { a.receiver.Run(ctx) })
	}
	if a.sender != nil {
		wg.Go(func() { a.sender.Run(ctx) })
	}
	if a.usage != nil {
		wg.Go(func() { a.usage.Run(ctx) })
	}
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				a.loop.Trigger()
			}
		}
	})
	ended := make(chan error, 1)
	wg.Go(func() { ended <- a.runner.Run(ctx) })
	err = a.loop.Run(ctx)
	stop()
	return errors.Join(err, <-ended, a.source.Close())
}

func (a *agent) listen() (net.Listener, error) {
	if a.set.Listen == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", a.set.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for metrics and status: %w", err)
	}
	a.log.Info("listening", "address", l.Addr().String())
	return l, nil
}

// serve answers until the context ends. Nothing it answers waits for libvirt or git.
func (a *agent) serve(ctx context.Context, l net.Listener) {
	a.answer(ctx, l, &http.Server{
		Handler: a.server, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
	})
}

// answer has a server answer until the context ends.
func (a *agent) answer(ctx context.Context, l net.Listener, server *http.Server) {
	var wg sync.WaitGroup
	wg.Go(func() {
		<-ctx.Done()
		bound, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(bound) // who still reads after a second is cut off
		_ = server.Close()
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		a.log.Error("nothing is answered any more", "address", l.Addr().String(), "error", err)
	}
	wg.Wait()
}

// onceRounds is how many passes --once makes at most: a change of a running machine takes its definition, itself and its
// record, each seen before the next.
const onceRounds = 4

// hasSteps says whether there is something to do at once.
func hasSteps(p plan.Plan) bool {
	return slices.ContainsFunc(p.Actions, func(a plan.Action) bool { return len(a.Steps) > 0 }) ||
		slices.ContainsFunc(p.Resources, func(a plan.ResourceAction) bool { return len(a.Steps) > 0 })
}

// runOnce makes one pass, and further ones while there is something to do at once.
func runOnce(ctx context.Context, set settings, log *slog.Logger, out interface{ Write([]byte) (int, error) }) error {
	a, err := newAgent(set, set.storeDir(), log)
	if err != nil {
		return err
	}
	defer a.runner.Close()
	defer a.source.Close()
	facts, err := a.loop.Once(ctx)
	for n := 1; n < onceRounds && err == nil && hasSteps(facts.Plan); n++ {
		facts, err = a.loop.Once(ctx)
	}
	if err != nil {
		return err
	}
	a.flush(ctx)
	printPlan(out, facts.Plan)
	switch {
	case facts.Source.Error != "":
		return errors.New(facts.Source.Error)
	case !facts.Plan.Empty() || len(facts.Documents.Problems) > 0 || facts.Source.Held != nil: // which was logged
		return exit(exitDiffers)
	}
	return nil
}

// look reads the repository and libvirt, and changes nothing.
func look(ctx context.Context, set settings, log *slog.Logger) (status.Facts, error) {
	dir, err := os.MkdirTemp("", "gitvirt-")
	if err != nil {
		return status.Facts{}, fmt.Errorf("cannot make a folder for the repository's objects: %w", err)
	}
	defer os.RemoveAll(dir)
	a, err := newAgent(set, filepath.Join(dir, "source"), log)
	if err != nil {
		return status.Facts{}, err
	}
	defer a.runner.Close()
	defer a.source.Close()
	facts, err := a.loop.Look(ctx)
	if err == nil && facts.Source.Error != "" {
		err = errors.New(facts.Source.Error)
	}
	return facts, err
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// hangups are SIGHUPs until stop is called.
func hangups() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}
