package test

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/runner/sandbox/guest"
	"github.com/gitvirt/gitvirt/test/sandboxtest"
)

// liveDoc is a machine that boots and follows its config while it runs.
type liveDoc struct {
	rollout     string
	guest       string
	sockets     int
	disks       []string // name:size
	nics        []string // name, or name:down
	seed        string   // the cloud-init user data
	iso         string   // the path of a medium; with no seed and no medium the drive is empty
	iotune      string
	title, more string
	attach      string
}

func (d liveDoc) docs(h *host, image guest.Image, name string) []string {
	h.allowGuest(image.Kernel)
	var disks, volumes, nics, networks []string
	for _, s := range d.disks {
		name, size, _ := strings.Cut(s, ":")
		disks = append(disks, "{name: "+name+"}")
		volumes = append(volumes, "{name: "+name+", volume: {size: "+size+"}}")
	}
	disks = append(disks, "{name: init, cdrom: {bus: scsi}}")
	if d.seed != "" {
		volumes = append(volumes, fmt.Sprintf("{name: init, cloudInitNoCloud: {userData: %q}}", d.seed))
	}
	if d.iso != "" {
		volumes = append(volumes, fmt.Sprintf("{name: init, iso: {path: %q}}", d.iso))
	}
	for _, s := range d.nics {
		name, state, down := strings.Cut(s, ":")
		if down {
			state = ", state: " + state
		}
		nics = append(nics, "{name: "+name+state+"}")
		networks = append(networks, "{name: "+name+", user: {}}")
	}
	config := fmt.Sprintf(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: %s}
spec:
  rollout: %s
  template:
    spec:
      terminationGracePeriodSeconds: 60
      domain:
        memory: {guest: %s, maxGuest: 256Mi}
        cpu: {sockets: %d, maxSockets: 2}
        devices: {disks: [%s], interfaces: [%s]}
      volumes: [%s]
      networks: [%s]
      domainXML: |
        <domain>%s<os><kernel>%s</kernel><initrd>%s</initrd><cmdline>%s</cmdline></os>
        <devices><serial type='file'><source path='%s' append='on'/><target port='0'/></serial>
        <console type='file'><source path='%s' append='on'/><target type='serial' port='0'/></console>
        <disk><alias name='ua-root'/>%s</disk>%s</devices></domain>
`, name, d.rollout, d.guest, d.sockets, strings.Join(disks, ", "), strings.Join(nics, ", "), strings.Join(volumes, ", "), strings.Join(networks, ", "),
		d.title, html.EscapeString(image.Kernel), html.EscapeString(image.Initrd), html.EscapeString(image.Cmdline), h.console(name), h.console(name), d.iotune, d.more)
	return []string{config, runDoc(name, d.attach)}
}

// liveXML is a running domain.
func (h *host) liveXML(name string) *domxml.Element {
	h.t.Helper()
	e, err := domxml.Parse(h.virsh("dumpxml", name))
	if err != nil {
		h.t.Fatal(err)
	}
	return e
}

func (h *host) inactiveXML(name string) *domxml.Element {
	h.t.Helper()
	e, err := domxml.Parse(h.virsh("dumpxml", "--inactive", name))
	if err != nil {
		h.t.Fatal(err)
	}
	return e
}

// TestLiveChanges: a guest that boots is changed while it runs, thing by thing; nothing is restarted, nothing that stays
// moves, and the definition agrees each time.
func TestLiveChanges(t *testing.T) {
	h := newHost(t)
	image := sandboxtest.Guest(t)
	d := liveDoc{rollout: "Live", guest: "192Mi", sockets: 1, disks: []string{"root:8Mi"}, nics: []string{"lan"}, seed: "#cloud-config\n"}
	h.push("Run web", d.docs(h, image, "web")...)
	h.agent()
	h.boots("web", 1)
	before := h.instance("web", "runs", phase(plan.PhaseRunning))
	places := map[string]string{}
	medium := func(name string) string { return filepath.Join(h.sandbox.PoolDir(), name+".iso") }
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(medium(name), make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name   string
		change func(*liveDoc)
		shows  func(live *domxml.Element) bool
	}{
		{"a disk", func(d *liveDoc) { d.disks = append(d.disks, "data:16Mi") }, func(e *domxml.Element) bool { return domxml.Named(e, "disk", "data") != nil }},
		{"a NIC", func(d *liveDoc) { d.nics = append(d.nics, "dmz") }, func(e *domxml.Element) bool { return domxml.Named(e, "interface", "dmz") != nil }},
		{"a link down", func(d *liveDoc) { d.nics[1] = "dmz:down" }, func(e *domxml.Element) bool {
			return domxml.Named(e, "interface", "dmz").Child("link").Attr("state") == "down"
		}},
		{"a disk in front", func(d *liveDoc) { d.disks = append([]string{"first:4Mi"}, d.disks...) }, func(e *domxml.Element) bool { return domxml.Named(e, "disk", "first") != nil }},
		{"another medium", func(d *liveDoc) { d.seed, d.iso = "", medium("one") }, func(e *domxml.Element) bool {
			return domxml.Named(e, "disk", "init").Child("source").Attr("file") == medium("one")
		}},
		{"no medium", func(d *liveDoc) { d.iso = "" }, func(e *domxml.Element) bool {
			return domxml.Named(e, "disk", "init").Child("source").Attr("file") == ""
		}},
		{"a medium again", func(d *liveDoc) { d.iso = medium("two") }, func(e *domxml.Element) bool {
			return domxml.Named(e, "disk", "init").Child("source").Attr("file") == medium("two")
		}},
		{"more CPUs", func(d *liveDoc) { d.sockets = 2 }, func(e *domxml.Element) bool { c := e.Child("vcpu").Attr("current"); return c == "" || c == "2" }},
		{"less memory", func(d *liveDoc) { d.guest = "160Mi" }, func(e *domxml.Element) bool { return e.Child("currentMemory").Text == "163840" }},
		{"more memory", func(d *liveDoc) { d.guest = "224Mi" }, func(e *domxml.Element) bool { return e.Child("currentMemory").Text == "229376" }},
		{"a larger disk", func(d *liveDoc) { d.disks[slices.Index(d.disks, "data:16Mi")] = "data:32Mi" }, func(*domxml.Element) bool {
			return strings.Contains(h.virsh("domblkinfo", "web", domxml.Named(h.liveXML("web"), "disk", "data").Child("target").Attr("dev")), "33554432")
		}},
		{"IO limits", func(d *liveDoc) { d.iotune = "<iotune><total_bytes_sec>1048576</total_bytes_sec></iotune>" }, func(e *domxml.Element) bool {
			return domxml.Named(e, "disk", "root").Child("iotune/total_bytes_sec") != nil
		}},
		{"other IO limits", func(d *liveDoc) { d.iotune = "<iotune><read_iops_sec>100</read_iops_sec></iotune>" }, func(e *domxml.Element) bool {
			disk := domxml.Named(e, "disk", "root")
			return disk.Child("iotune/read_iops_sec") != nil && disk.Child("iotune/total_bytes_sec") == nil
		}},
		{"no IO limits", func(d *liveDoc) { d.iotune = "" }, func(e *domxml.Element) bool { return domxml.Named(e, "disk", "root").Child("iotune") == nil }},
		{"a title", func(d *liveDoc) { d.title = "<title>The web</title><description>For all</description>" }, func(e *domxml.Element) bool {
			return e.Child("title") != nil && e.Child("description") != nil
		}},
		{"no title", func(d *liveDoc) { d.title = "" }, func(e *domxml.Element) bool { return e.Child("title") == nil }},
		{"an rng", func(d *liveDoc) {
			d.more = "<rng model='virtio'><backend model='random'>/dev/urandom</backend><alias name='ua-rng'/></rng>"
		},
			func(e *domxml.Element) bool { return domxml.Named(e, "rng", "rng") != nil }},
		{"no rng", func(d *liveDoc) { d.more = "" }, func(e *domxml.Element) bool { return domxml.Named(e, "rng", "rng") == nil }},
		{"without the first disk", func(d *liveDoc) { d.disks = d.disks[1:] }, func(e *domxml.Element) bool { return domxml.Named(e, "disk", "first") == nil }},
		{"without the NIC", func(d *liveDoc) { d.nics = d.nics[:1] }, func(e *domxml.Element) bool { return domxml.Named(e, "interface", "dmz") == nil }},
		{"a temporary disk", func(d *liveDoc) {
			d.attach = "attach: {disks: [{name: spare}], volumes: [{name: spare, volume: {size: 4Mi}}]}"
		}, func(e *domxml.Element) bool { return domxml.Named(e, "disk", "spare") != nil }},
		{"which stays", func(d *liveDoc) { d.attach, d.disks = "", append(d.disks, "spare:4Mi") }, func(e *domxml.Element) bool { return domxml.Named(e, "disk", "spare") != nil }},
		{"the first disk again", func(d *liveDoc) { d.disks = append([]string{"first:4Mi"}, d.disks...) }, func(e *domxml.Element) bool { return domxml.Named(e, "disk", "first") != nil }},
	} {
		step.change(&d)
		revision := h.push(step.name, d.docs(h, image, "web")...)
		h.settled(revision)
		if live := h.liveXML("web"); !step.shows(live) {
			t.Errorf("%s is not to be seen:\n%s", step.name, live)
		}
		now := h.instance("web", "is as it is to be", func(status.Instance) bool { return true })
		if now.Status.Domain.ID != before.Status.Domain.ID {
			t.Fatalf("%s restarted the machine", step.name)
		}
		if len(now.Status.Staged) > 0 || now.Status.Revision.Running != revision && step.name != "a temporary disk" {
			t.Errorf("%s: staged is %v, and revision %s is running, want %s", step.name, now.Status.Staged, now.Status.Revision.Running, revision)
		}
		h.stays(places, "web", step.name)
	}
	// The next start has all of it where it was.
	h.push("Restart", append(d.docs(h, image, "web")[:1], runDoc("web", "run: 2"))...)
	h.boots("web", 2)
	h.stays(places, "web", "the restart")
}

// stays checks that no device is elsewhere than it ever was, and that the running machine and its definition have it at one
// place.
func (h *host) stays(places map[string]string, name, after string) {
	h.t.Helper()
	for _, domain := range []*domxml.Element{h.liveXML(name), h.inactiveXML(name)} {
		for _, d := range domain.Child("devices").Children {
			if d.UserAlias() == "" {
				continue
			}
			place := d.Child("target").Attr("dev") + " " + d.Child("mac").Attr("address")
			if strings.HasPrefix(place, "vnet") {
				place = ""
			}
			if a := d.Child("address"); a != nil {
				place += " " + strings.TrimSpace(a.String())
			}
			key := d.Name + " " + d.UserAlias()
			if old, ok := places[key]; ok && old != place {
				h.t.Errorf("%s: %s was at %s, and is at %s", after, key, old, place)
			}
			places[key] = place
		}
	}
}
