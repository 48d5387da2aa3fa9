package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/examples"
	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
)

func (d *demo) console() string { return filepath.Join(d.sandbox.PoolDir(), "web.console") }
func (d *demo) clone() string   { return filepath.Join(d.dir, "clone") }

// repository makes a bare repository, and a clone with the example in it.
func (d *demo) repository(ctx context.Context) error {
	d.say("A git repository, and a first commit: a flavour, the definition of a machine named web, and its run state.")
	bare := filepath.Join(d.dir, "vms.git")
	if err := d.command(ctx, d.dir, "git", "init", "--quiet", "--bare", "--initial-branch=main", bare); err != nil {
		return err
	}
	if err := d.command(ctx, d.dir, "git", "clone", "--quiet", bare, d.clone()); err != nil {
		return err
	}
	words := strings.NewReplacer("@KERNEL@", html.EscapeString(d.image.Kernel), "@INITRD@", html.EscapeString(d.image.Initrd),
		"@CMDLINE@", html.EscapeString(d.image.Cmdline), "@CONSOLE@", html.EscapeString(d.console()))
	files, err := fs.Glob(examples.Demo, "demo/*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := examples.Demo.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(d.clone(), filepath.Base(file)), []byte(words.Replace(string(text))), 0o600); err != nil {
			return fmt.Errorf("cannot write the example: %w", err)
		}
	}
	fmt.Fprintf(d.out, "$ cat web.run.yaml\n%s", d.read("web.run.yaml"))
	return d.push(ctx, "Define web, and run it")
}

func (d *demo) read(file string) string {
	text, err := os.ReadFile(filepath.Join(d.clone(), file))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// command runs a command and shows it.
func (d *demo) command(ctx context.Context, dir, name string, args ...string) error {
	fmt.Fprintf(d.out, "$ %s %s\n", name, strings.Join(args, " "))
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot run %s %s: %w\n%s", name, args[0], err, out)
	}
	return nil
}

func (d *demo) push(ctx context.Context, message string) error {
	if err := d.command(ctx, d.clone(), "git", "add", "."); err != nil {
		return err
	}
	if err := d.command(ctx, d.clone(), "git", "-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "--quiet", "-m", message); err != nil {
		return err
	}
	return d.command(ctx, d.clone(), "git", "push", "--quiet", "origin", "HEAD:main")
}

// edit changes a word in a file of the clone, and shows it.
func (d *demo) edit(file, from, to string) error {
	fmt.Fprintf(d.out, "$ sed -i 's/%s/%s/' %s\n", from, to, file)
	text := d.read(file)
	if !strings.Contains(text, from) {
		return fmt.Errorf("there is no %q in %s", from, file)
	}
	if err := os.WriteFile(filepath.Join(d.clone(), file), []byte(strings.Replace(text, from, to, 1)), 0o600); err != nil {
		return fmt.Errorf("cannot edit the example: %w", err)
	}
	return nil
}

// startAgent runs an agent on the repository.
func (d *demo) startAgent(ctx context.Context) (func() error, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot find a free port: %w", err)
	}
	address := l.Addr().String()
	_ = l.Close()
	d.agent = "http://" + address
	set := defaults()
	set.Repo, set.Host, set.Libvirt, set.Listen = filepath.Join(d.dir, "vms.git"), "demo", d.sandbox.URI(), address
	set.DomainType, set.StateDir = "qemu", filepath.Join(d.dir, "state")
	set.LibvirtConfigDir, set.LibvirtStateDir = d.sandbox.ConfigDir(), d.sandbox.StateDir()
	// The demo's machine boots a kernel of the demo's, and writes its console to a file.
	set.Policy.HostPaths = []string{filepath.Dir(d.image.Kernel), filepath.Dir(d.console())}
	d.say("An agent on that repository. It watches it, so a push is seen at once.")
	fmt.Fprintf(d.out, "$ gitvirt agent --repo %s --host demo --libvirt %s --listen %s &\n", set.Repo, set.Libvirt, address)
	a, err := newAgent(set, filepath.Join(set.StateDir, "source"), slog.New(slog.NewTextHandler(d.out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- a.run(ctx, nil) }()
	return func() error { cancel(); return <-ended }, nil
}

// show runs one of gitvirt's own commands.
func (d *demo) show(ctx context.Context, args ...string) error {
	fmt.Fprintf(d.out, "$ gitvirt %s\n", strings.Join(args, " "))
	if code := execute(ctx, append(args, "--agent", d.agent), d.out, d.out); code != 0 {
		return fmt.Errorf("gitvirt %s ended with %d", strings.Join(args, " "), code)
	}
	return nil
}

// web is the instance; false while the agent has none.
func (d *demo) web(ctx context.Context) (status.Instance, bool) {
	var i status.Instance
	raw, err := ask(ctx, d.agent+"/api/v1alpha1/instances/web")
	return i, err == nil && json.Unmarshal(raw, &i) == nil
}

func (d *demo) booted(ctx context.Context, times int) error {
	return d.until(ctx, "the guest is ready", func() (bool, error) {
		text, err := os.ReadFile(d.console())
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if report, ok := guest.Ready(string(text)); ok && guest.Boots(string(text)) >= times {
			fmt.Fprintf(d.out, "  the guest says: ready, with %d MiB of memory\n", report.MemoryKiB/1024)
			return true, nil
		}
		return false, err
	})
}

func (d *demo) boots(ctx context.Context) error {
	d.say("The machine is created and started, and a real guest boots in it.")
	if err := d.booted(ctx, 1); err != nil {
		return err
	}
	if err := d.until(ctx, "the agent reports it", func() (bool, error) {
		i, ok := d.web(ctx)
		return ok && i.Status.Phase == plan.PhaseRunning, nil
	}); err != nil {
		return err
	}
	return d.show(ctx, "get", "instances")
}

func (d *demo) edits(ctx context.Context) error {
	d.say("More memory for it. The running machine is not touched: the change is staged, and waits for the next start.")
	if err := d.edit("flavours.yaml", "128Mi", "192Mi"); err != nil {
		return err
	}
	if err := d.push(ctx, "Give web more memory"); err != nil {
		return err
	}
	if err := d.until(ctx, "the change is staged", func() (bool, error) {
		i, ok := d.web(ctx)
		return ok && len(i.Status.Staged) > 0, nil
	}); err != nil {
		return err
	}
	return d.show(ctx, "get", "instances")
}

func (d *demo) restarts(ctx context.Context) error {
	d.say("A restart is an edit of the run state: run 2 instead of run 1. The guest is asked to shut down, and started again.")
	if err := d.edit("web.run.yaml", "run: 1", "run: 2"); err != nil {
		return err
	}
	if err := d.push(ctx, "Restart web"); err != nil {
		return err
	}
	if err := d.booted(ctx, 2); err != nil {
		return err
	}
	return d.show(ctx, "get", "instances")
}

func (d *demo) breaks(ctx context.Context) error {
	d.say("A bad commit. It says what is wrong, and where; the machine runs on as it was.")
	if err := d.edit("web.yaml", "restartPolicy", "restartPolicie"); err != nil {
		return err
	}
	if err := d.push(ctx, "Make a mistake"); err != nil {
		return err
	}
	fmt.Fprintln(d.out, "$ gitvirt check")
	if code := execute(ctx, []string{"check", d.clone()}, d.out, d.out); code != exitDiffers {
		return fmt.Errorf("gitvirt check ended with %d for a broken document", code)
	}
	if err := d.until(ctx, "the agent has seen it", func() (bool, error) {
		raw, err := ask(ctx, d.agent+"/metrics")
		return strings.Contains(string(raw), "gitvirt_documents{state=\"invalid\"} 1\n"), err
	}); err != nil {
		return err
	}
	if err := d.show(ctx, "get", "instances"); err != nil {
		return err
	}
	return d.edit("web.yaml", "restartPolicie", "restartPolicy")
}

func (d *demo) stops(ctx context.Context) error {
	d.say("The mistake is mended, and the machine stopped. Its definition and its disk stay.")
	if err := d.edit("web.run.yaml", "state: Running", "state: Stopped"); err != nil {
		return err
	}
	if err := d.push(ctx, "Mend web, and stop it"); err != nil {
		return err
	}
	begun := time.Now()
	if err := d.until(ctx, "it is stopped", func() (bool, error) {
		i, ok := d.web(ctx)
		return ok && i.Status.Phase == plan.PhaseStopped, nil
	}); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "  the guest shut down within %v\n", time.Since(begun).Round(100*time.Millisecond))
	if err := d.show(ctx, "get", "instances"); err != nil {
		return err
	}
	return d.show(ctx, "get", "configs")
}
