package reconcile_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/source"
)

const (
	fleetHosts    = 1000
	machinesAHost = 50
)

// BenchmarkFleet is what a commit costs that changes one of 100,000 documents (50 machines on each of 1,000 hosts, a config and a
// run state each), from asking the repository to the wanted state of one host. The floor is `git fetch` of the commit and
// `git diff --name-only`. One commit in two changes a machine of the host itself. Peak memory is that of the whole process since
// the store was there: the first reading of all documents is counted separately.
func BenchmarkFleet(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // as the agent does
	dir := b.TempDir()
	bare, clone := filepath.Join(dir, "repo.git"), filepath.Join(dir, "clone.git")
	gitCommand(b, dir, nil, "init", "--quiet", "--bare", "-b", "main", bare)
	fastImport(b, bare, func(w io.Writer) {
		for host := range fleetHosts {
			for n := range machinesAHost {
				fleetMachine(w, host, n, "64Mi")
			}
		}
	})
	gitCommand(b, dir, nil, "clone", "--quiet", "--bare", "--no-local", bare, clone)
	src, err := source.New(source.Options{URL: bare, Dir: filepath.Join(dir, "store")})
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	docs := reconcile.NewDocuments("kvm0007")
	wanted := func() (string, int) {
		s, err := src.Fetch(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		set, err := docs.Read(s)
		if err != nil {
			b.Fatal(err)
		}
		v, err := docs.View(s, set, nil, "", reconcile.Scope{Host: "kvm0007", Options: render.Options{Fleet: "f", DomainType: "qemu", CacheDir: "/c"}})
		if err != nil {
			b.Fatal(err)
		}
		if len(v.Problems)+len(v.Broken) > 0 || len(v.Instances) != machinesAHost {
			b.Fatalf("%d instances, %d problems, %d broken", len(v.Instances), len(v.Problems), len(v.Broken))
		}
		return s.Commit, set.Size()
	}
	resetPeak(b)
	begun := time.Now()
	wanted()
	first, firstPeak := time.Since(begun), peak(b)
	debug.FreeOSMemory()
	resetPeak(b)
	var ours, floors []time.Duration
	n := 0
	for b.Loop() {
		n++
		host := 7
		if n%2 == 0 {
			host = 400 + n%100
		}
		want := fastImport(b, bare, func(w io.Writer) { fleetMachine(w, host, n%machinesAHost, fmt.Sprintf("%dMi", 65+n%1000)) })
		begun := time.Now()
		if commit, size := wanted(); commit != want || size != 2*fleetHosts*machinesAHost {
			b.Fatalf("%s with %d documents, want %s", commit, size, want)
		}
		ours = append(ours, time.Since(begun))
		debug.FreeOSMemory() // as the loop does after each revision
		begun = time.Now()
		gitCommand(b, clone, nil, "fetch", "--quiet", "origin", "+main:main")
		gitCommand(b, clone, nil, "diff", "--name-only", want+"^", want)
		floors = append(floors, time.Since(begun))
	}
	most := peak(b)
	slices.Sort(ours)
	slices.Sort(floors)
	o, f := ours[len(ours)/2], floors[len(floors)/2]
	b.ReportMetric(float64(f.Microseconds())/1000, "ms-floor")
	b.ReportMetric(float64(o.Microseconds())/1000, "ms-ours")
	b.ReportMetric(float64(o)/float64(f), "x-floor")
	b.ReportMetric(most, "MiB-peak")
	b.ReportMetric(firstPeak, "MiB-peak-first")
	b.ReportMetric(first.Seconds(), "s-first")
	b.ReportMetric(0, "ns/op")
}

// fleetMachine writes a machine's two files, as git fast-import reads them.
func fleetMachine(w io.Writer, host, n int, guest string) {
	name := fmt.Sprintf("vm-%04d-%02d", host, n)
	for file, text := range map[string]string{
		"config": fmt.Sprintf(fleetConfig, name, guest),
		"state":  fmt.Sprintf("apiVersion: gitvirt.io/v1alpha1\nkind: RunState\nmetadata:\n  name: %s\nspec:\n  host: kvm%04d\n  state: Running\n", name, host),
	} {
		fmt.Fprintf(w, "M 644 inline hosts/kvm%04d/%s-%s.yaml\ndata %d\n%s\n", host, name, file, len(text), text)
	}
}

// fleetConfig is a usual document, of about 1 KiB.
const fleetConfig = `apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata:
  name: %s
  labels:
    tier: frontend
spec:
  restartPolicy: Always
  rollout: Stage
  deletionPolicy: Retain
  template:
    metadata:
      labels:
        app: web
    spec:
      terminationGracePeriodSeconds: 60
      domain:
        cpu:
          cores: 2
        memory:
          guest: %s
        devices:
          disks:
          - name: root
            disk: {bus: virtio}
          - name: data
            disk: {bus: virtio}
          - name: init
            cdrom: {bus: sata}
          interfaces:
          - name: lan
            model: virtio
            bridge: {}
      networks:
      - name: lan
        libvirt: {network: default}
      volumes:
      - name: root
        volume:
          pool: default
          size: 20Gi
          image:
            path: /var/lib/libvirt/images/debian-12-generic-amd64.qcow2
      - name: data
        volume: {pool: default, size: 100Gi}
      - name: init
        cloudInitNoCloud:
          userData: |
            #cloud-config
            packages: [nginx]
`

// fastImport makes a commit on main, straight in a bare repository, and returns it.
func fastImport(b *testing.B, bare string, files func(io.Writer)) string {
	b.Helper()
	head, err := exec.Command("git", "-C", bare, "rev-parse", "--quiet", "--verify", "main").Output()
	r, w := io.Pipe()
	go func() {
		out := bufio.NewWriter(w)
		fmt.Fprintf(out, "commit refs/heads/main\ncommitter C <c@example.org> %d +0000\ndata 6\nChange\n", time.Now().Unix())
		if err == nil {
			fmt.Fprintf(out, "from %s\n", strings.TrimSpace(string(head)))
		}
		files(out)
		w.CloseWithError(out.Flush())
	}()
	gitCommand(b, bare, r, "fast-import", "--quiet")
	return strings.TrimSpace(gitCommand(b, bare, nil, "rev-parse", "main"))
}

func gitCommand(b *testing.B, dir string, in io.Reader, args ...string) string {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, in
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// resetPeak begins the measure of the most resident memory anew: proc(5), clear_refs.
func resetPeak(b *testing.B) {
	b.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
}

// peak is the most resident memory since, in MiB.
func peak(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	var kib float64
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	b.Fatal("no VmHWM")
	return 0
}
