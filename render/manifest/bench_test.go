package manifest

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"
)

// fleet makes n config documents of about 1.1 KB, as one file each.
func fleet(n int) [][]byte {
	files := make([][]byte, n)
	for i := range files {
		files[i] = fmt.Appendf(nil, `# vm-%[1]d serves the shop
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata:
  name: vm-%[1]d
  labels:
    tier: frontend
    app.kubernetes.io/name: web
spec:
  flavour: small
  restartPolicy: Always
  deletionPolicy: Retain
  template:
    metadata:
      labels: {app: web}
    spec:
      terminationGracePeriodSeconds: 60
      domain:
        cpu: {cores: 2}
        memory: {guest: 2Gi}
        devices:
          rng: {}
          disks:
          - {name: root, disk: {bus: virtio}, bootOrder: 1}
          - {name: data, disk: {bus: virtio}, cache: none}
          - {name: init, cdrom: {bus: sata}}
          interfaces:
          - name: lan
            model: virtio
            macAddress: 52:54:00:%02[2]x:%02[3]x:01
            bridge: {}
      networks:
      - name: lan
        libvirt: {network: default}
      volumes:
      - name: root
        volume: {pool: default, size: 20Gi, image: {path: /srv/images/debian-12.qcow2}}
      - name: data
        volume: {pool: default, size: 100Gi}
      - name: init
        cloudInitNoCloud:
          userData: |
            #cloud-config
            hostname: vm-%[1]d
            users: [{name: ops, ssh_authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeKeyForBenchmarks ops]}]
`, i, i/256%256, i%256)
	}
	return files
}

// typedConfig is a config whose template is read into the type at once, which is what strictness needs without a schema.
type typedConfig struct {
	Header
	Spec struct {
		ConfigSpec
		Template struct {
			Metadata Meta         `json:"metadata"`
			Spec     InstanceSpec `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// cpuTime is the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRead reads 10,000 documents and, in turns with that, unmarshals the same bytes with sigs.k8s.io/yaml: into a
// type that has the template's fields, and into Config, which leaves the template unchecked. It reports the CPU time of
// reading as a multiple of either.
func BenchmarkRead(b *testing.B) {
	const documents, turns = 10_000, 10
	files := fleet(documents)
	size := 0
	var read, typed, bare time.Duration
	for b.Loop() {
		read, typed, bare = 0, 0, 0
		for turn := range turns {
			part := files[turn*documents/turns : (turn+1)*documents/turns]
			at := cpuTime(b)
			for i, data := range part {
				size += len(data)
				if f := Read(fmt.Sprintf("vm-%d.yaml", i), data); len(f.Problems) > 0 || f.Documents[0].object == nil {
					b.Fatal(f.Problems)
				}
			}
			read += cpuTime(b) - at
			at = cpuTime(b)
			for _, data := range part {
				if err := yaml.UnmarshalStrict(data, new(typedConfig)); err != nil {
					b.Fatal(err)
				}
			}
			typed += cpuTime(b) - at
			at = cpuTime(b)
			for _, data := range part {
				if err := yaml.UnmarshalStrict(data, new(Config)); err != nil {
					b.Fatal(err)
				}
			}
			bare += cpuTime(b) - at
		}
	}
	b.ReportMetric(float64(read)/float64(typed), "×typed")
	b.ReportMetric(float64(read)/float64(bare), "×bare")
	b.ReportMetric(float64(read.Microseconds())/documents, "µs/document")
	b.ReportMetric(float64(size)/float64(b.N)/documents, "bytes/document")
}

// BenchmarkCollect makes the set of 10,000 documents that were read before, and reports what they hold in memory.
func BenchmarkCollect(b *testing.B) {
	const documents = 10_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	files := make([]File, documents)
	for i, data := range fleet(documents) {
		files[i] = Read(fmt.Sprintf("vm-%d.yaml", i), data)
	}
	files = append(files, Read("small.yaml", []byte(small)))
	runtime.GC()
	runtime.ReadMemStats(&after)
	var set *Set
	for b.Loop() {
		if set = Collect(files, nil); len(set.Problems) > 0 {
			b.Fatal(set.Problems[0])
		}
	}
	if len(set.Configs) != documents {
		b.Fatalf("the set has %d configs", len(set.Configs))
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/documents, "held-bytes/document")
}

const small = `apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineFlavour
metadata: {name: small}
spec: {domain: {memory: {guest: 1Gi}}}
`
