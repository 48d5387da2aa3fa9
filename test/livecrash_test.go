package test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/test/proxy"
)

// followDoc is a machine without an operating system that follows its config while it is paused: what changes needs no guest.
func followDoc(name, domain, more, disks, size, xml string) string {
	return fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  rollout: Live
  template:
    spec:
      terminationGracePeriodSeconds: 0
      domain: {memory: {guest: 16Mi}, cpu: %s, devices: {disks: [{name: root}, {name: cd, cdrom: {bus: scsi}}%s], interfaces: [{name: lan%s}]}}
      networks: [{name: lan, user: {}}]
      volumes: [{name: root, volume: {size: %s}}%s]
      domainXML: "<domain>%s</domain>"
`, name, domain, disks, more, size, volumesOf(disks), xml)
}

// volumesOf are volumes for the disks that a document names.
func volumesOf(disks string) string {
	volumes := ""
	for _, d := range []string{"data", "wide"} {
		if strings.Contains(disks, "name: "+d) {
			volumes += ", {name: " + d + ", volume: {size: 1Mi}}"
		}
	}
	if strings.Contains(disks, "name: wide") {
		volumes += ", {name: cd, cloudInitNoCloud: {userData: '#cloud-config'}}"
	}
	return volumes
}

// TestCutAtEveryLiveChange kills the agent, or cuts its connection, before and after each write of a plan that changes a
// running machine in every way. The next passes converge, the machine runs on, and then there is nothing more to write.
func TestCutAtEveryLiveChange(t *testing.T) {
	h := newHost(t)
	const let = "Change\n\nGitvirt-Allow-Removals: 9\n"
	rounds := 0
	for at := 0; ; at++ {
		struck := false
		for _, when := range []proxy.Moment{proxy.Before, proxy.After} {
			rounds++
			name := fmt.Sprintf("m%d", rounds)
			h.push(let, followDoc(name, "{sockets: 1, maxSockets: 2}", "", "", "1Mi", ""), runDoc(name, "state: Paused"))
			h.converge()
			id := h.virsh("domid", name)
			h.push(let,
				followDoc(name, "{sockets: 2, maxSockets: 2}", ", state: down", ", {name: data}, {name: wide, disk: {bus: scsi}}", "2Mi",
					"<title>t</title><devices><disk><alias name='ua-root'/><iotune><total_iops_sec>100</total_iops_sec></iotune></disk></devices>"),
				runDoc(name, "state: Paused, attach: {disks: [{name: spare}], volumes: [{name: spare, emptyDisk: {capacity: 1Mi}}]}"))
			fault := h.cut(at, when, rounds%4 < 2)
			select {
			case <-fault.Fired():
				struck = true
			default:
			}
			h.converge()
			live, inactive := h.liveXML(name), h.inactiveXML(name)
			switch {
			case h.virsh("domid", name) != id:
				t.Error("it was restarted")
			case domxml.Named(live, "disk", "data") == nil, domxml.Named(live, "disk", "wide") == nil, domxml.Named(live, "disk", "spare") == nil,
				domxml.Named(live, "disk", "cd").Child("source").Attr("volume") == "",
				domxml.Named(live, "interface", "lan").Child("link").Attr("state") != "down", live.Child("title") == nil,
				domxml.Named(live, "disk", "root").Child("iotune") == nil, live.Child("vcpu").Attr("current") == "1",
				!strings.Contains(h.virsh("domblkinfo", name, "vda"), "2097152"):
				t.Errorf("something has not come:\n%s", live)
			case domxml.Named(inactive, "disk", "spare") != nil:
				t.Errorf("the temporary disk is in the definition:\n%s", inactive)
			}
			h.stays(map[string]string{}, name, "the cut")
			if t.Failed() {
				t.Fatalf("cut at write %d (%v), moment %d, round %d", at, fault.Call().Procedure, when, rounds)
			}
			h.proxy.Reset()
			if code := h.once(); code != 0 || len(h.proxy.Writes()) != 0 {
				t.Fatalf("cut at write %d: another pass ended with %d and wrote %v", at, code, proxy.Names(h.proxy.Writes()))
			}
		}
		if !struck {
			break
		}
	}
	if rounds < 26 {
		t.Errorf("only %d rounds: is the plan what it was?", rounds)
	}
	t.Logf("%d rounds", rounds)
}
