package runner_test

import (
	"fmt"
	"testing"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/runner"
	"github.com/gitvirt/gitvirt/runner/sandbox"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// BenchmarkObserve100Networks looks at a hundred active networks of ours; the floor is the bare list of networks and of pools,
// which is all that is asked of a host whose revision has no such documents.
func BenchmarkObserve100Networks(b *testing.B) {
	s := sandboxtest.Start(b, func(o *sandbox.Options) { o.Networks = true })
	lv := bare(b, s)
	for n := range 100 {
		xml := fmt.Sprintf("<network><name>n%d</name><bridge name='br-n%d'/></network>", n, n)
		network, err := lv.NetworkDefineXML(xml)
		if err == nil {
			err = lv.NetworkCreate(network)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	r, err := runner.New(runner.Options{URI: s.URI()})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for _, all := range []bool{false, true} {
		b.Run(map[bool]string{false: "nothing wanted", true: "all wanted"}[all], func(b *testing.B) {
			turns(b, func() {
				if _, _, err := lv.ConnectListAllNetworks(1, 0); err != nil {
					b.Fatal(err)
				}
				if _, _, err := lv.ConnectListAllStoragePools(1, libvirt.ConnectListAllStoragePoolsFlags(0)); err != nil {
					b.Fatal(err)
				}
			}, func() {
				if _, err := r.ObserveResources(b.Context(), func(plan.Resource) bool { return all }); err != nil {
					b.Fatal(err)
				}
			}, func() {})
		})
	}
}
