package render_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestThreadsAreSharedOut: a disk with a dedicated thread has it for itself, and the others have those of the policy.
func TestThreadsAreSharedOut(t *testing.T) {
	const own, rest, sata = "dedicatedIOThread: true", "serial: a", "disk: {bus: sata}"
	for name, tt := range map[string]struct {
		policy string
		disks  []string
		want   string // the number of threads, and the disks' own
	}{
		"none":               {"", []string{rest, rest}, ": - -"},
		"dedicated alone":    {"", []string{own}, "1: 1"},
		"dedicated":          {"", []string{rest, own, rest, own}, "3: 1 2 1 3"},
		"shared":             {"ioThreadsPolicy: shared", []string{rest, rest, sata}, "1: 1 1 -"},
		"auto":               {"ioThreadsPolicy: auto", []string{rest, own, rest}, "3: 1 3 2"},
		"auto, at its limit": {"ioThreadsPolicy: auto", []string{rest, rest, rest, rest, rest, own}, "4: 1 2 3 1 2 4"},
		"a pool":             {"ioThreadsPolicy: supplementalPool, ioThreads: {supplementalPoolThreadCount: 2}", []string{rest, rest, rest}, "2: 1 2 1"},
		"a pool of nothing":  {"ioThreadsPolicy: supplementalPool, ioThreads: {supplementalPoolThreadCount: 2}", []string{sata}, ": -"},
	} {
		t.Run(name, func(t *testing.T) {
			disks, volumes := "", ""
			for n, d := range tt.disks {
				disks += fmt.Sprintf("{name: d%d, %s},", n, d)
				volumes += fmt.Sprintf("{name: d%d, emptyDisk: {capacity: 1Gi}},", n)
			}
			policy := tt.policy
			if policy != "" {
				policy += ", "
			}
			// base has two CPUs, and a virtio disk of its own, which is out of the way on another bus.
			i := machine(t, `{domain: {`+policy+`devices: {disks: [{name: root, disk: {bus: usb}}, `+disks+`]}}, volumes: [`+volumes+`]}`)
			threads, of := "", []string{}
			if e := i.Domain.Child("iothreads"); e != nil {
				threads = e.Text
			}
			for _, d := range i.Domain.Child("devices").Children {
				if !strings.HasPrefix(d.UserAlias(), "d") || d.Name != "disk" {
					continue
				}
				thread := d.Child("driver").Attr("iothread")
				if thread == "" {
					thread = "-"
				}
				of = append(of, thread)
			}
			if got := threads + ": " + strings.Join(of, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
