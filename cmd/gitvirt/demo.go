package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
)

func demoCommand() *cobra.Command {
	var step bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job on this machine, with a libvirtd and QEMU of its own",
		Long: `Demo starts a private libvirtd, makes a git repository from an example, runs an agent on it, and walks through the main job:
a machine that boots, an edit that waits, a restart, a bad commit that changes nothing, a stop. The system's libvirt is not
touched, and nothing is left behind.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d := &demo{out: c.OutOrStdout()}
			if step {
				d.in = bufio.NewReader(c.InOrStdin())
			}
			return d.run(c.Context())
		},
	}
	c.Flags().BoolVar(&step, "step", false, "wait for Enter before each step")
	return c
}

// demo is one walk through the main job.
type demo struct {
	out io.Writer
	in  *bufio.Reader // nil: do not wait

	sandbox *sandbox.Sandbox
	image   guest.Image
	dir     string
	agent   string // its address
}

func (d *demo) run(ctx context.Context) (err error) {
	d.say("Starting a libvirtd of its own, and building a guest that boots in seconds. The system's libvirt is not touched.")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "gitvirt")
	if d.image, err = guest.Build(ctx, cache); err != nil {
		return err
	}
	if d.sandbox, err = sandbox.Start(ctx, sandbox.Options{DefaultPool: true, CapabilityCache: filepath.Join(cache, "capabilities")}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.sandbox.Close()) }()
	if d.dir, err = os.MkdirTemp("", "gitvirt-demo-"); err != nil {
		return fmt.Errorf("cannot make a folder for the demo: %w", err)
	}
	defer os.RemoveAll(d.dir)
	if err := d.repository(ctx); err != nil {
		return err
	}
	stop, err := d.startAgent(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for _, step := range []func(context.Context) error{d.boots, d.edits, d.restarts, d.breaks, d.stops} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.say("That is all. Everything that the demo started is ended now, and its files are removed.")
	return nil
}

// say tells the person what comes, and waits if asked to.
func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "\n# "+format+"\n", args...)
	if d.in != nil {
		fmt.Fprint(d.out, "  (Enter)")
		_, _ = d.in.ReadString('\n') // the end of the input is as good
	}
}

// until asks until ok says yes.
func (d *demo) until(ctx context.Context, what string, ok func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		yes, err := ok()
		if yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain until %s: %w", what, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
