package download

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/runner/image"
)

// helperVariable has the test binary be a process for a test instead.
const helperVariable = "GITVIRT_TEST_HELPER"

func TestMain(m *testing.M) {
	if helper := os.Getenv(helperVariable); helper != "" {
		to, step, _ := strings.Cut(helper, " ")
		n, _ := strconv.Atoi(step) // the test wrote it
		if err := bringUntil(to, n); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// text is a source whose digest is its text.
type text struct{ now string }

func (text) Origin() Origin { return Origin{Image: "registry.example/text"} }

func (s text) Bring(ctx context.Context, j *Job) (*image.Temp, string, error) {
	what := s.now
	if j.Pinned != "" {
		what = j.Pinned
	}
	if err := j.MakeFolder(); err != nil {
		return nil, "", err
	}
	tmp, err := j.Write(ctx, strings.NewReader(what), int64(len(what)))
	return tmp, what, err
}

// steps of a fetch, each of which a kill can be the last of.
const steps = 5

// bringUntil does what a fetch does, and stops after some of the steps, as a killed process would.
func bringUntil(to string, step int) error {
	f := New(Options{Logger: slog.New(slog.DiscardHandler)})
	from := text{}.Origin()
	p := f.newProgress(from, to)
	j := &Job{To: to, from: from, fetcher: f, progress: p}
	if err := j.MakeFolder(); err != nil || step == 0 {
		return err
	}
	if step == 1 { // while the content is written
		tmp, err := image.CreateTemp(filepath.Dir(to))
		if err != nil {
			return err
		}
		_, err = tmp.File.WriteString("fir")
		return err
	}
	tmp, digest, err := text{now: "first"}.Bring(context.Background(), j)
	if err != nil || step == 2 {
		return err
	}
	if err := tmp.File.Chmod(mode); err != nil {
		return err
	}
	if err := record(from, digest, to); err != nil || step == 3 {
		return err
	}
	return tmp.Rename(to, false) // and the folder is not synced
}

// TestKilled has a process killed after each step of a fetch: the next fetch mends it, with what was pinned if that was.
func TestKilled(t *testing.T) {
	t.Parallel()
	for step := range steps {
		to := filepath.Join(t.TempDir(), "a", "disk")
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", helperVariable, to, step))
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if _, err := os.Stat(to); (err == nil) != (step == 4) {
			t.Errorf("killed after step %d there is a file: %v", step, err)
		}
		want := "second"
		if step >= 3 {
			want = "first"
		}
		f := New(Options{Logger: slog.New(slog.DiscardHandler)})
		t.Cleanup(f.Close)
		_, err := f.Fetch(t.Context(), text{now: "second"}, to, "web")
		if got, err2 := os.ReadFile(to); err != nil || err2 != nil || string(got) != want {
			t.Errorf("killed after step %d it is %s, %v, %v", step, got, err, err2)
		}
		if all, err := os.ReadDir(filepath.Dir(to)); err != nil || len(all) != 2 {
			t.Errorf("killed after step %d there are %v, %v", step, all, err)
		}
	}
}
