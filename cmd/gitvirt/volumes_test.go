package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// terminal is a pseudo terminal (pts(4)): what is written to person is what a person types.
func terminal(t *testing.T) (person, tty *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return person, tty
}

func TestConfirm(t *testing.T) {
	for typed, deletes := range map[string]bool{"y\n": true, "Yes\n": true, "\n": false, "n\n": false, "yo\n": false, "\x04": false} {
		person, tty := terminal(t)
		if _, err := person.WriteString(typed); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		err := confirm(tty, &said, 2)
		if (err == nil) != deletes || said.String() != "Delete 2 of them for good? [y/N] " {
			t.Errorf("%q: %v after %q", typed, err, said.String())
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := confirm(null, &bytes.Buffer{}, 1); err == nil || !strings.Contains(err.Error(), "say --yes") {
		t.Errorf("without a terminal: %v", err)
	}
	if err := confirm(strings.NewReader("y\n"), &bytes.Buffer{}, 1); err == nil || !strings.Contains(err.Error(), "say --yes") {
		t.Errorf("from a pipe: %v", err)
	}
}

func TestVolumeTable(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b bytes.Buffer
	volumeTable(&b, []plan.Stored{
		{Pool: "p", Name: "web.root.qcow2", Path: "/p/web.root.qcow2", Format: "qcow2", Capacity: 1 << 30, Allocation: 1 << 20, Made: plan.MadeHere,
			Instance: "web", Config: "webs", Orphaned: true, OrphanedSince: &since},
		{Pool: "p", Name: "x", UsedBy: []string{"domain a", "image p/y"}, Wanted: true},
		{Pool: "p", Name: "z", Wanted: true},
	}, true)
	want := "VOLUME\tINSTANCE\tCONFIG\tSIZE\tON DISK\tMADE BY\tUSED BY\tORPHANED SINCE\tFORMAT\tPATH\n" +
		"p/web.root.qcow2\tweb\twebs\t1Gi\t1Mi\tgitvirt\t-\t2026-01-02T03:04:05Z\tqcow2\t/p/web.root.qcow2\n" +
		"p/x\t-\t-\t0\t0\tother\tdomain a, image p/y\t-\t-\t-\n" +
		"p/z\t-\t-\t0\t0\tother\twanted\t-\t-\t-\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
