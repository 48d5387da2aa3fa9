package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes. A command that compares ends with 1 when there is something to say; 2 is for what could not be done.
const (
	exitDiffers = 1
	exitFailed  = 2
)

// exit is an error that is an exit code, and has been said already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

func main() { os.Exit(run()) }

// run is main with its exit code, as tests call it.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

func execute(ctx context.Context, args []string, out, errs io.Writer) int {
	root := &cobra.Command{
		Use:           "gitvirt",
		Short:         "Virtual machines on libvirt, as a git repository says",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	root.AddCommand(agentCommand(), checkCommand(), renderCommand(), planCommand(), getCommand(), volumeCommand(), importCommand(), reconcileCommand(), acceptCommand(), demoCommand())
	root.AddCommand(powerCommands()...)
	err := root.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintln(errs, "gitvirt:", err)
	return exitFailed
}

// version is the module's, which is the tag's where it was built from one, and the commit that it was built from.
func version() string {
	v, commit := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		v = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	switch {
	case commit != "" && (v == "" || v == "(devel)"):
		return commit
	case v == "":
		return "unknown"
	case commit != "" && !strings.Contains(v, commit[:min(len(commit), 12)]):
		return v + " (" + commit + ")"
	}
	return v
}
