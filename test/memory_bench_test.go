package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkAgentMemory is the resident memory of an agent with 1,000 machines and 10,000 documents, once it is in sync and
// rests, as it does nearly always; and the most that it was since it was started.
func BenchmarkAgentMemory(b *testing.B) {
	h := newHost(b)
	var machines, others []string
	for n := range 1000 {
		machines = append(machines, machineDoc(fmt.Sprintf("vm-%04d", n), "", "16Mi", "root")+"---\n"+runDoc(fmt.Sprintf("vm-%04d", n), "state: Stopped"))
	}
	for n := range 4000 {
		name := fmt.Sprintf("other-%04d", n)
		others = append(others, machineDoc(name, "", "16Mi", "root")+"---\n"+strings.Replace(runDoc(name, "state: Running"), "kvm1", fmt.Sprintf("kvm%d", 2+n%9), 1))
	}
	commit := h.push("Many", append(machines, others...)...)
	a := h.agent()
	h.settled(commit)
	// One that finds all as it should be, as after most starts.
	a.kill()
	a = h.agent()
	h.settled(commit)
	time.Sleep(3 * time.Second) // it gives memory back when nothing has happened for one
	for b.Loop() {
		status, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(a.cmd.Process.Pid), "status"))
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(status)) {
			var kib float64
			for field, name := range map[string]string{"VmRSS:": "MiB-resident", "VmHWM:": "MiB-peak"} {
				if _, err := fmt.Sscanf(line, field+" %f kB", &kib); err == nil {
					b.ReportMetric(kib/1024, name)
				}
			}
		}
	}
}
