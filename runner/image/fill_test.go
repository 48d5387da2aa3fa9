package image_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/runner/image"
)

const fillVariable = "GITVIRT_TEST_FILL"

// fill is a process that fills a device, and says when it has begun.
func fill(what string) int {
	device, rest, _ := strings.Cut(what, "|")
	from, stop, _ := strings.Cut(rest, "|")
	begun := func() error {
		_, err := fmt.Println("begun")
		if stop != "" {
			time.Sleep(time.Hour) // until it is killed
		}
		return err
	}
	if err := (image.Maker{}).Fill(context.Background(), device, copyOf(from), begun, nil); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func copyOf(from string) render.Volume {
	return render.Volume{Name: "root", Kind: render.VolumeCopy, Format: "raw", Backing: from, BackingFormat: "qcow2"}
}

// used makes a device that has another machine's content.
func used(t *testing.T, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "device")
	if err := os.WriteFile(path, bytes.Repeat([]byte("theirs. "), size/8), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// qcow2Of is content as a qcow2 image.
func qcow2Of(t testing.TB) (qcow2, raw string) {
	t.Helper()
	dir := t.TempDir()
	raw, qcow2 = content(t, dir), filepath.Join(dir, "i, v1.qcow2")
	qemuImg(t, "convert", "-O", "qcow2", raw, qcow2)
	return qcow2, raw
}

// isFilled says whether a device has the image, and zeroes after it.
func isFilled(t *testing.T, device, raw string) bool {
	t.Helper()
	got, err := os.ReadFile(device)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, len(got))
	if raw != "" {
		content, err := os.ReadFile(raw)
		if err != nil {
			t.Fatal(err)
		}
		copy(want, content)
	}
	return bytes.Equal(got, want)
}

func TestFill(t *testing.T) {
	qcow2, raw := qcow2Of(t)
	tiny := filepath.Join(t.TempDir(), "tiny.qcow2")
	qemuImg(t, "create", "-q", "-f", "qcow2", tiny, "4096")
	small := copyOf(tiny)
	for name, test := range map[string]struct {
		v    render.Volume
		size int
		raw  string
		want string
	}{
		"an image":              {copyOf(qcow2), 12 * mib, raw, ""},
		"a raw image":           {render.Volume{Kind: render.VolumeCopy, Format: "raw", Backing: raw, BackingFormat: "raw"}, 12 * mib, raw, ""},
		"an image of a block":   {small, mib, "", ""},
		"blank":                 {render.Volume{Kind: render.VolumeBlank, Format: "raw"}, 3*mib + 512, "", ""},
		"an image that is more": {copyOf(qcow2), 2 * mib, "", "fewer than the"},
		"hardly a device":       {render.Volume{Kind: render.VolumeBlank, Format: "raw"}, 4096, "", "needs 65536 at least"},
	} {
		t.Run(name, func(t *testing.T) {
			device := used(t, test.size)
			begun := 0
			err := image.Maker{}.Fill(t.Context(), device, test.v, func() error {
				begun++
				if half, err := image.Unfinished(device); !half || err != nil {
					t.Errorf("it has begun, and does not say so: %v", err)
				}
				return nil
			}, nil)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) || begun > 0 {
					t.Errorf("%v, begun %d times", err, begun)
				}
				return
			}
			if half, unread := image.Unfinished(device); err != nil || half || unread != nil || begun != 1 {
				t.Fatal(err, half, unread, begun)
			}
			if !isFilled(t, device, test.raw) {
				t.Error("the device has something else")
			}
		})
	}
}

// TestFillStopped stops after each step that is seen from outside: whatever is there then says that it is unfinished.
func TestFillStopped(t *testing.T) {
	qcow2, raw := qcow2Of(t)
	enough := errors.New("enough")
	for _, stop := range []string{"begun", "copying", "zeroing"} {
		device := used(t, 96*mib)
		ctx, cancel := context.WithCancelCause(t.Context())
		err := image.Maker{}.Fill(ctx, device, copyOf(qcow2), func() error {
			if stop == "begun" {
				return enough
			}
			return nil
		}, func(_, total int64) {
			if (stop == "zeroing") == (total == 96*mib) {
				cancel(enough)
			}
		})
		cancel(nil)
		if stop != "copying" && !errors.Is(err, enough) { // a copy may be over before it is told to stop
			t.Errorf("%s: %v", stop, err)
		}
		if half, unread := image.Unfinished(device); err != nil && (!half || unread != nil) {
			t.Errorf("%s: stopped with %v, and it does not say so: %v", stop, err, unread)
		}
		if err := (image.Maker{}).Fill(t.Context(), device, copyOf(qcow2), func() error { return nil }, nil); err != nil || !isFilled(t, device, raw) {
			t.Errorf("%s, and again: %v", stop, err)
		}
	}
}

// TestFillKilled kills the process that fills a device at any time. What has begun is either whole or says that it is not.
func TestFillKilled(t *testing.T) {
	qcow2, raw := qcow2Of(t)
	device := used(t, 32*mib)
	run := func(stop string, after time.Duration) (said string) {
		if err := os.WriteFile(device, bytes.Repeat([]byte("theirs. "), 4*mib), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fillVariable+"="+device+"|"+qcow2+stop)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 100)
		n, err := out.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
		defer timer.Stop()
		if _, err := io.Copy(io.Discard, out); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		return string(line[:n])
	}
	begun := time.Now()
	if said := run("", time.Minute); said != "begun\n" || !isFilled(t, device, raw) {
		t.Fatalf("it says %q", said)
	}
	took := time.Since(begun)
	run("|stop", 0)
	if half, err := image.Unfinished(device); !half || err != nil {
		t.Errorf("killed when it had begun, it does not say so: %v", err)
	}
	for n := range 8 {
		run("", took*time.Duration(n)/8)
		half, err := image.Unfinished(device)
		if err != nil {
			t.Fatal(err)
		}
		if !half && !isFilled(t, device, raw) {
			t.Errorf("killed after %d/8 of its time it is half filled, and does not say so", n)
		}
	}
}
