package source

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	r := newRepo(t)
	commits := []string{r.head()}
	for _, text := range []string{"one\n", "two\n", "three\n"} {
		r.write("web.yaml", text)
		commits = append(commits, r.commit(text))
	}
	s := newSource(t, Options{URL: r.bare})
	fetch(t, s)
	for name, want := range map[string]int{
		"HEAD": 3, "main": 3, "refs/heads/main": 3, "HEAD~": 2, "HEAD~1": 2, "HEAD^": 2, "main~2": 1, "HEAD~1^": 1, "HEAD^^^": 0,
		"HEAD~0": 3, "HEAD~3": 0, commits[2]: 2, commits[2][:7]: 2, strings.ToUpper(commits[2][:9]): 2, commits[2] + "~2": 0,
	} {
		snap, err := s.At(context.Background(), name)
		if err != nil || snap.Commit != commits[want] {
			t.Errorf("%s: %v, want commit %d", name, err, want)
			continue
		}
		checkWhole(t, r, snap, commits[want])
	}
	for name, want := range map[string]string{
		"HEAD~4": "is the first", "HEAD^2": "write NAME~N", "HEAD~x": "write NAME~N", "elsewhere": "HEAD, or the branch's name", "": "is no commit",
		"~": "is no commit", "HEAD~99999999999999999999": "too far back", "HEAD~30000": "write NAME~N", "0123456": ErrUnknownCommit.Error(),
	} {
		snap, err := s.At(context.Background(), name)
		if snap != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	if _, err := s.At(context.Background(), "HEAD~4"); !errors.Is(err, ErrUnknownCommit) {
		t.Error(err)
	}
}

func FuzzStepsBack(f *testing.F) {
	for _, s := range []string{"HEAD", "HEAD~3", "main^^", "~", "^2", "a~1~2^"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		base, steps, err := stepsBack(name)
		if err != nil {
			return
		}
		if steps < 0 || strings.ContainsAny(base, "~^") || !strings.HasPrefix(name, base) {
			t.Errorf("%q: %q and %d steps", name, base, steps)
		}
	})
}
