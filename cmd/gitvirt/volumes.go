package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gitvirt/gitvirt/reconcile/inventory"
	"github.com/gitvirt/gitvirt/reconcile/plan"
)

func volumeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "volume",
		Short: "Delete volumes that no machine has any more",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return errors.New("say what to do: gitvirt volume delete POOL/NAME")
		},
	}
	c.AddCommand(volumeDeleteCommand())
	return c
}

func volumeDeleteCommand() *cobra.Command {
	var file, socket, stateDir string
	var yes, foreign bool
	c := &cobra.Command{
		Use:   "delete POOL/NAME...",
		Short: "Delete volumes of this host for good",
		Long: `Delete has the agent of this host delete volumes, through its Unix socket, after it has asked. It deletes all of them or none:
nothing that any domain uses, gitvirt's or not, directly or through an image that lies on it; nothing that the revision in
force wants; and, without --foreign, nothing that has no mark that gitvirt made it.`,
		Example: `  gitvirt get volumes --orphans
  gitvirt volume delete default/web.root.qcow2
  gitvirt volume delete --yes default/web.root.qcow2 default/web.data.img`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := agentSocket(file, socket, stateDir)
			if err != nil {
				return err
			}
			request := inventory.Request{Volumes: args, Foreign: foreign, DryRun: true}
			a, err := askAboutVolumes(c.Context(), path, request)
			if err != nil {
				return err
			}
			w := c.OutOrStdout()
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			volumeTable(t, a.Volumes, false)
			if err := t.Flush(); err != nil {
				return err
			}
			if err := refusedBy(a); err != nil {
				return err
			}
			if !yes {
				if err := confirm(c.InOrStdin(), w, len(a.Volumes)); err != nil {
					return err
				}
			}
			request.DryRun = false
			if a, err = askAboutVolumes(c.Context(), path, request); err != nil {
				return err
			}
			for _, name := range a.Deleted {
				fmt.Fprintln(w, "deleted", name)
			}
			return refusedBy(a)
		},
	}
	c.Flags().StringVar(&file, "config", "", "the agent's configuration file (default "+defaultConfig+", if there is one)")
	c.Flags().StringVar(&socket, "socket", "", "the agent's socket, if neither its file nor the state dir tells")
	c.Flags().StringVar(&stateDir, "state-dir", "", "the folder for what the agent keeps, if its file does not say")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&foreign, "foreign", false, "delete what has no mark that gitvirt made it, too")
	return c
}

// agentSocket is where the agent of this host listens for its users.
func agentSocket(file, socket, stateDir string) (string, error) {
	s, err := read(file)
	if err != nil {
		return "", err
	}
	s.StateDir, s.Socket = cmp.Or(stateDir, s.StateDir), cmp.Or(socket, s.Socket)
	if path := s.socketPath(); path != "" {
		return path, nil
	}
	return "", errors.New("the agent's file says that there is no socket: say --socket")
}

func refusedBy(a inventory.Answer) error {
	if a.Error != "" {
		return errors.New(a.Error)
	}
	if len(a.Refused) > 0 {
		return fmt.Errorf("nothing is deleted:\n  %s", strings.Join(a.Refused, "\n  "))
	}
	return nil
}

// confirm asks a person. Whoever is none has to say --yes.
func confirm(in io.Reader, w io.Writer, n int) error {
	f, ok := in.(*os.File)
	if !ok || !isTerminal(f) {
		return errors.New("nothing is deleted: there is nobody to ask here; say --yes")
	}
	fmt.Fprintf(w, "Delete %d of them for good? [y/N] ", n)
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing is deleted")
	}
	return nil
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// askAboutVolumes posts to an agent's socket.
func askAboutVolumes(ctx context.Context, path string, r inventory.Request) (inventory.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, inventory.DeleteTime+10*time.Second)
	defer cancel()
	var a inventory.Answer
	raw, err := json.Marshal(r)
	if err != nil {
		return a, fmt.Errorf("cannot ask the agent: %w", err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://agent/volumes/delete", bytes.NewReader(raw))
	if err != nil {
		return a, fmt.Errorf("cannot ask the agent: %w", err)
	}
	answer, err := client.Do(request)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return a, fmt.Errorf("cannot ask the agent; does it run, and may you use its socket? %w", err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&a); err != nil {
		return a, fmt.Errorf("cannot read the agent's answer: %w", err)
	}
	return a, nil
}

func volumeTable(w io.Writer, items []plan.Stored, wide bool) {
	head := "VOLUME\tINSTANCE\tCONFIG\tSIZE\tON DISK\tMADE BY\tUSED BY\tORPHANED SINCE"
	if wide {
		head += "\tFORMAT\tPATH"
	}
	fmt.Fprintln(w, head)
	for _, v := range items {
		since := "-"
		if v.OrphanedSince != nil {
			since = v.OrphanedSince.UTC().Format(time.RFC3339)
		}
		used := cmp.Or(strings.Join(v.UsedBy, ", "), "-")
		if v.Wanted && used == "-" {
			used = "wanted"
		}
		row := []string{v.Pool + "/" + v.Name, cmp.Or(v.Instance, "-"), cmp.Or(v.Config, "-"), size(v.Capacity), size(v.Allocation), cmp.Or(string(v.Made), "other"), used, since}
		if wide {
			row = append(row, cmp.Or(v.Format, "-"), cmp.Or(v.Path, "-"))
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
}

// size is a number of bytes as documents say it.
func size(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
