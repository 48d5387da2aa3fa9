package test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKubeVirtManifestsRun gives an agent a KubeVirt user's repository: a machine with an instancetype, a preference and a
// disk that is made of an image and kept, and a set of machines that keep nothing.
func TestKubeVirtManifestsRun(t *testing.T) {
	h := newHost(t)
	h.flags = []string{"--default-host", "kvm1"}
	h.allow(thisRegistry)
	image := pushDisk(t, bytes.Repeat([]byte{0x22}, 1<<20))
	const types = `apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: tiny}
spec: {cpu: {guest: 2}, memory: {guest: 16Mi}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterPreference
metadata: {name: virtio}
spec: {devices: {preferredDiskBus: virtio, preferredInterfaceModel: virtio, preferredAutoattachGraphicsDevice: false}}
`
	const host = `apiVersion: gitvirt.io/v1alpha1
kind: Host
metadata: {name: kvm1}
spec: {podNetwork: {user: {}}, storageClasses: {fast: {pool: default}}}
`
	shop := func(memory string) string {
		return `apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: shop, namespace: prod}
spec:
  runStrategy: Always
  instancetype: {name: tiny}
  preference: {name: virtio}
  dataVolumeTemplates:
  - metadata: {name: shop-root}
    spec: {source: {registry: {url: "docker://` + image + `"}}, storage: {storageClassName: fast, resources: {requests: {storage: 2Mi}}}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      terminationGracePeriodSeconds: 0
      domain: {` + memory + `devices: {disks: [{name: root, disk: {}}]}}
      volumes: [{name: root, dataVolume: {name: shop-root}}]
`
	}
	worker := `apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceReplicaSet
metadata: {name: worker}
spec:
  replicas: 2
  template:
    metadata: {labels: {app: worker}}
    spec:
      terminationGracePeriodSeconds: 0
      domain: {memory: {guest: 16Mi}, devices: {autoattachPodInterface: false, autoattachGraphicsDevice: false}}
      volumes: [{name: root, containerDisk: {image: "` + image + `"}}]
`
	h.push("A KubeVirt user's manifests", types, host, shop(""), worker)
	h.converge()
	names := slices.Sorted(slices.Values(strings.Fields(h.virsh("list", "--name")))) // it lists them as they were started
	if strings.Join(names, " ") != "shop worker-0 worker-1" {
		t.Errorf("what runs is %v", names)
	}
	xml := h.virsh("dumpxml", "shop")
	for _, want := range []string{"<vcpu placement='static'>2</vcpu>", "bus='virtio'", "<interface type='user'>", "unit='KiB'>16384<"} {
		if !strings.Contains(xml, want) {
			t.Errorf("the machine has no %s:\n%s", want, xml)
		}
	}
	for _, file := range []string{"shop.root.qcow2", "worker-0.root.qcow2", "worker-1.root.qcow2"} {
		if _, err := os.Stat(filepath.Join(h.sandbox.PoolDir(), file)); err != nil {
			t.Error(err)
		}
	}
	if code := h.once(); code != 0 {
		t.Errorf("another pass ends with %d", code)
	}

	// A manifest that contradicts its instancetype changes nothing, and removes nothing.
	h.push("Contradict", types, host, shop("memory: {guest: 32Mi}, "), worker)
	if code := h.once(); code != 1 {
		t.Errorf("a pass over a broken revision ends with %d", code)
	}
	if after := h.virsh("dumpxml", "shop"); after != xml {
		t.Errorf("the machine changed:\n%s", after)
	}
	if !strings.Contains(h.log.String(), "the machine says 32Mi, and its instancetype says 16Mi") {
		t.Errorf("the log does not say why:\n%s", h.log)
	}

	// One fewer: the highest number goes, and its disk with it, because it kept nothing.
	h.push("Shrink", types, host, shop(""), strings.Replace(worker, "replicas: 2", "replicas: 1", 1))
	h.converge()
	if names := strings.Fields(h.virsh("list", "--all", "--name")); strings.Join(names, " ") != "shop worker-0" {
		t.Errorf("what is left is %v", names)
	}
	if _, err := os.Stat(filepath.Join(h.sandbox.PoolDir(), "worker-1.root.qcow2")); !os.IsNotExist(err) {
		t.Errorf("the disk of a machine that keeps nothing is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.sandbox.PoolDir(), "shop.root.qcow2")); err != nil {
		t.Error(err)
	}
}
