package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// power is one of the commands that edit what documents say of running.
type power struct {
	verb            manifest.Verb
	dir, path, note string
	push            bool
	wait            time.Duration
	agents          []string
}

func powerCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, p := range []struct {
		verb                 manifest.Verb
		use, short, long, eg string
	}{
		{manifest.Start, "start NAME…", "Have machines run", "Start writes state: Running into the machine's RunState.", "  gitvirt start web\n  gitvirt start web db --push --wait 5m"},
		{manifest.Stop, "stop NAME…", "Have machines shut down", "Stop writes state: Stopped into the machine's RunState. Its agent asks the guest to shut down, waits for the grace period, and then\npulls the plug. The machine stays defined, and keeps its disks.", "  gitvirt stop web --push\n  gitvirt stop web --message 'Stop web for the move of its rack'"},
		{manifest.Pause, "pause NAME…", "Have machines pause", "Pause writes state: Paused into the machine's RunState: its vCPUs stand still, and its memory stays. Start lets it go on.", "  gitvirt pause web --push"},
		{manifest.Restart, "restart NAME…", "Have machines restart, with what is staged", "Restart raises run in the machine's RunState: each number is one run. What is staged for the next start is in force then.", "  gitvirt restart web --push --wait 10m"},
		{manifest.Move, "move NAME HOST", "Have a machine run on another host", "Move writes the host into the machine's RunState. A machine with volumes on the old host alone is not moved before its RunState says\nmoveVolumes: Recreate; the plan says so.", "  gitvirt move web kvm2 --push"},
	} {
		do := &power{verb: p.verb}
		c := &cobra.Command{
			Use: p.use, Short: p.short, Example: p.eg,
			Long: p.long + "\n\nIt edits the file in a clone, leaves every other byte of it as it is, and commits it as git is configured there. The commit is\n" +
				"pushed when you say --push; what others have pushed meanwhile stays. It ends with 0 when it is done, or was so before; 2 when it could not.",
			Args: cobra.MinimumNArgs(1),
			RunE: func(c *cobra.Command, args []string) error { return do.run(c.Context(), c.OutOrStdout(), args, "") },
		}
		if p.verb == manifest.Move {
			c.Args = cobra.ExactArgs(2)
			c.RunE = func(c *cobra.Command, args []string) error {
				return do.run(c.Context(), c.OutOrStdout(), args[:1], args[1])
			}
		}
		do.bind(c)
		all = append(all, c)
	}
	return all
}

func (p *power) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.dir, "dir", ".", "the clone of the repository")
	f.StringVar(&p.path, "path", defaults().Path, "the folder in it that holds the documents")
	f.StringVarP(&p.note, "message", "m", "", "the commit's message")
	f.BoolVar(&p.push, "push", false, "push the commit")
	f.DurationVar(&p.wait, "wait", 0, "how long to wait, after the push, until the machines are as wanted")
	f.StringArrayVar(&p.agents, "agent", []string{"http://" + defaults().Listen}, "the address of an agent to ask while waiting; may be said again")
}

// run changes the documents of the machines, in one commit.
func (p *power) run(ctx context.Context, out io.Writer, names []string, host string) error {
	if p.wait > 0 && !p.push {
		return fmt.Errorf("--wait: the agents do not hear of a commit before it is pushed; say --push")
	}
	root := filepath.Join(p.dir, p.path)
	s, err := source.Folder(root)
	if err != nil {
		return err
	}
	set, err := reconcile.NewDocuments("").Read(s)
	if err != nil {
		return err
	}
	read := func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(root, file)) }
	var changes, fresh []manifest.Change
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		c, err := set.Change(p.verb, name, host, read)
		if err != nil {
			return fmt.Errorf("cannot %s %s: %w", p.verb, name, err)
		}
		changes = append(changes, c)
		if len(c.Fields) == 0 {
			fmt.Fprintf(out, "%s: its %s says so already (%s:%d)\n", name, c.Kind, c.At.File, c.At.Line)
		} else {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) > 0 {
		if err := p.commit(ctx, out, root, fresh, read); err != nil {
			return err
		}
	}
	if p.wait > 0 {
		return await(ctx, out, p.agents, changes, p.wait)
	}
	return nil
}

// commit writes the changes, commits them, and pushes them if that was asked for. When one cannot be written, none is.
func (p *power) commit(ctx context.Context, out io.Writer, root string, changes []manifest.Change, read func(string) ([]byte, error)) error {
	repo := clone{root}
	before, after := map[string][]byte{}, map[string][]byte{}
	var files []string
	for _, c := range changes {
		file := c.At.File
		if after[file] == nil {
			if err := repo.clean(ctx, file); err != nil {
				return err
			}
			text, err := read(file)
			if err != nil {
				return fmt.Errorf("cannot read %s: %w", file, err)
			}
			before[file], after[file] = text, text
			files = append(files, file)
		}
		text, err := manifest.Assign(after[file], c.At.Index, c.Fields...)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		after[file] = text
	}
	for n, file := range files {
		if err := rewrite(filepath.Join(root, file), after[file]); err != nil {
			return restore(root, files[:n], before, err)
		}
	}
	commit, err := repo.commit(ctx, p.message(changes), files)
	if err != nil {
		return restore(root, files, before, err)
	}
	for _, c := range changes {
		fmt.Fprintf(out, "%s: %s in %s, commit %s\n", c.Name, fields(c.Fields), c.At.File, brief(commit))
	}
	if !p.push {
		return nil
	}
	if err := repo.push(ctx); err != nil {
		return fmt.Errorf("cannot push: %w", err)
	}
	fmt.Fprintln(out, "pushed")
	return nil
}

// rewrite gives a file other content, whole or not at all; its mode stays.
func rewrite(file string, text []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	return renameio.WriteFile(file, text, info.Mode().Perm(), renameio.WithTempDir(filepath.Dir(file)), renameio.IgnoreUmask())
}

// restore takes back what was written, because of an error.
func restore(root string, files []string, before map[string][]byte, cause error) error {
	for _, file := range files {
		if err := rewrite(filepath.Join(root, file), before[file]); err != nil {
			return fmt.Errorf("%w; and cannot take back the change of %s: %w", cause, file, err)
		}
	}
	return cause
}

// message is that of the commit: what was asked for, and of which machines.
func (p *power) message(changes []manifest.Change) string {
	if p.note != "" {
		return p.note
	}
	var names []string
	for _, c := range changes {
		names = append(names, c.Name)
	}
	verb := strings.ToUpper(string(p.verb[:1])) + string(p.verb[1:])
	message := verb + " " + strings.Join(names, ", ")
	switch {
	case p.verb == manifest.Move:
		message += " to " + changes[0].Host
	case len(message) > 72:
		message = fmt.Sprintf("%s %d machines\n\n%s", verb, len(names), strings.Join(names, "\n"))
	}
	return message
}

// fields are assignments in words.
func fields(all []manifest.Assignment) string {
	var words []string
	for _, a := range all {
		words = append(words, a.Field+": "+a.Value)
	}
	return strings.Join(words, ", ")
}
