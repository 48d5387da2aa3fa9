package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pushTries is how often a commit is put on top of what others have pushed meanwhile.
const pushTries = 5

// clone is a person's clone of the repository. It is worked on with the git command, so that the author, the signature, hooks and
// credentials are as that person's git is configured.
type clone struct{ dir string }

// git runs a git command and returns what it prints.
func (c clone) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", c.dir}, args...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("cannot commit: %w; install git", err)
	case err != nil:
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// clean says whether a file is as its last commit has it: what is committed must be this change alone.
func (c clone) clean(ctx context.Context, file string) error {
	said, err := c.git(ctx, "status", "--porcelain", "--ignored", "--", file)
	if err != nil {
		return fmt.Errorf("%s is in no clone of a repository: %w", c.dir, err)
	}
	if said != "" {
		return fmt.Errorf("%s has changes that are not committed, or is not in git: commit it first, or take them back", filepath.Join(c.dir, file))
	}
	return nil
}

// commit commits files, and nothing else that may be staged.
func (c clone) commit(ctx context.Context, message string, files []string) (string, error) {
	if _, err := c.git(ctx, append([]string{"commit", "--quiet", "--message", message, "--only", "--"}, files...)...); err != nil {
		return "", err
	}
	return c.git(ctx, "rev-parse", "HEAD")
}

// push pushes the branch. When others were faster, the commit goes on top of theirs.
func (c clone) push(ctx context.Context) error {
	var err error
	for try := range pushTries {
		if _, err = c.git(ctx, "push", "--quiet"); err == nil || ctx.Err() != nil {
			return err
		}
		said := err.Error()
		if !strings.Contains(said, "fetch first") && !strings.Contains(said, "non-fast-forward") && !strings.Contains(said, "cannot lock ref") {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(try) * 100 * time.Millisecond):
		}
		if _, err := c.git(ctx, "pull", "--quiet", "--rebase", "--autostash"); err != nil {
			_, aborted := c.git(ctx, "rebase", "--abort")
			return errors.Join(fmt.Errorf("others have changed the same meanwhile; it is committed, and not pushed: %w", err), aborted)
		}
	}
	return fmt.Errorf("others push all the time; it is committed, and not pushed: %w", err)
}
