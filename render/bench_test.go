package render_test

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fleetOf is a repository: a config and a run state for each machine, a flavour, and a preset that all have.
func fleetOf(machines int) [][]byte {
	files := [][]byte{[]byte(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineFlavour
metadata: {name: small}
spec: {domain: {cpu: {cores: 2}, memory: {guest: 2Gi}}}
`), []byte(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachinePreset
metadata: {name: logs}
spec:
  selector: {matchLabels: {tier: frontend}}
  domain: {devices: {disks: [{name: logs, cache: none}]}}
  volumes: [{name: logs, volume: {size: 5Gi}}]
`)}
	for i := range machines {
		files = append(files, fmt.Appendf(nil, `apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata:
  name: vm-%[1]d
  labels: {tier: frontend, app.kubernetes.io/name: web}
spec:
  flavour: small
  restartPolicy: Always
  rollout: Stage
  template:
    metadata:
      labels: {app: web}
      annotations: {gitvirt.io/os: debian12}
    spec:
      terminationGracePeriodSeconds: 60
      domain:
        firmware: {bootloader: {efi: {secureBoot: false}}}
        devices:
          disks:
          - {name: root, disk: {bus: virtio}, bootOrder: 1}
          - {name: data, disk: {bus: scsi}, serial: data-%[1]d}
          - {name: init, cdrom: {bus: sata}}
          interfaces:
          - {name: lan, model: virtio, bridge: {}}
          rng: {}
      networks:
      - {name: lan, libvirt: {network: default}}
      volumes:
      - name: root
        volume: {pool: default, size: 20Gi, image: {path: /var/lib/libvirt/images/debian.qcow2}}
      - {name: data, volume: {size: 100Gi, format: raw}}
      - name: init
        cloudInitNoCloud:
          userData: |
            #cloud-config
            hostname: vm-%[1]d
            users: [{name: ops, ssh_authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeKeyForBenchmarks ops]}]
`, i), fmt.Appendf(nil, `apiVersion: gitvirt.io/v1alpha1
kind: RunState
metadata: {name: vm-%d}
spec: {host: kvm%d, state: Running}
`, i, i%10))
	}
	return files
}

// typedConfig is a config whose template is read into the type at once, which is what strictness needs without a schema.
type typedConfig struct {
	manifest.Header
	Spec struct {
		manifest.ConfigSpec
		Template struct {
			Metadata manifest.Meta         `json:"metadata"`
			Spec     manifest.InstanceSpec `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// typed is what a document is unmarshalled into.
func typed(data []byte) any {
	switch {
	case bytes.Contains(data, []byte("kind: RunState")):
		return new(manifest.RunState)
	case bytes.Contains(data, []byte("kind: VirtualMachineInstanceConfig")):
		return new(typedConfig)
	}
	return new(map[string]any)
}

// BenchmarkCheck does what check does with 10,000 documents, of 5,000 machines: it reads them, places and completes all
// machines, renders their domains, and throws that away. Beside it, in turns, sigs.k8s.io/yaml unmarshals the same bytes
// strictly into types that have all fields. It reports the CPU time as a multiple.
func BenchmarkCheck(b *testing.B) {
	const machines = 5_000
	files := fleetOf(machines)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as check does
	var read, complete, bare time.Duration
	for b.Loop() {
		read, complete, bare = 0, 0, 0
		at := cpuTime(b)
		for _, data := range files {
			if err := yaml.UnmarshalStrict(data, typed(data)); err != nil {
				b.Fatal(err)
			}
		}
		bare = cpuTime(b) - at
		at = cpuTime(b)
		documents := make([]manifest.File, len(files))
		for i, data := range files {
			documents[i] = manifest.Read(fmt.Sprintf("%d.yaml", i), data)
		}
		set := manifest.Collect(documents, nil)
		read = cpuTime(b) - at
		at = cpuTime(b)
		p := render.Place(set, "")
		if len(set.Problems)+len(p.Problems) > 0 || len(p.Machines) != machines {
			b.Fatal(set.Problems, p.Problems)
		}
		for _, m := range p.Machines {
			if _, problems := p.Of(m, render.Options{Fleet: "f"}); len(problems) > 0 {
				b.Fatal(problems)
			}
		}
		complete = cpuTime(b) - at
	}
	b.ReportMetric(float64(read)/float64(bare), "read×bare")
	b.ReportMetric(float64(read+complete)/float64(bare), "check×bare")
	b.ReportMetric(float64(complete.Microseconds())/machines, "µs/machine")
}
