package status

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// scenes are what the goldens and the search for secrets look at, by name.
func scenes(t testing.TB) map[string]*scene {
	all := map[string]*scene{}
	add := func(name string) *scene {
		all[name] = newScene(t)
		return all[name]
	}
	staged := add("staged")
	staged.converge(web("1Gi", "") + runState("Running"))
	staged.converge(web("2Gi", "") + runState("Running"))

	succeeded, oneOff := add("succeeded"), web("1Gi", "restartPolicy: Never")+runState("Running")
	succeeded.converge(oneOff)
	succeeded.off("shutdown")
	succeeded.converge(oneOff)

	// Stopped, and defined anew since: the annotations are still those of the run.
	edited := add("edited")
	edited.converge(web("1Gi", "") + runState("Running"))
	edited.converge(web("1Gi", "") + runState("Stopped"))
	edited.converge(web("2Gi", "") + runState("Stopped"))

	blocked := add("blocked")
	blocked.domain = &plan.Domain{Name: "web", UUID: "5d2e7b4c-0000-4000-8000-000000000001", ID: -1, State: plan.DomainShutoff, Persistent: true,
		Inactive: plan.XML{Packed: plan.Plain("<domain><name>web</name></domain>"), Hash: "other"}}
	blocked.observe(web("1Gi", "") + runState("Running"))

	removal := add("removal")
	removal.converge(web("1Gi", "") + runState("Running"))
	removal.observe(web("1Gi", ""))

	// Its RunState is in force, and cannot be followed.
	broken := add("broken")
	broken.converge(web("1Gi", "") + runState("Running"))
	broken.observe(strings.Replace(web("1Gi", ""), "name: lan, libvirt", "name: wan, libvirt", 1) + runState("Running"))

	// It is not known what is wanted of it.
	unread := add("unread")
	unread.converge(web("1Gi", "") + runState("Running"))
	unread.observe(strings.Replace(web("1Gi", ""), "userData: ", "userDta: ", 1) + runState("Running"))

	stuck := add("stuck")
	stuck.converge(web("1Gi", "") + runState("Running"))
	d := stuck.domain
	d.Stuck, d.State, d.Live, d.Inactive = true, plan.DomainUnknown, plan.XML{}, plan.XML{}
	stuck.observe(web("1Gi", "") + runState("Running"))

	// A password that waits for the next start: it is in both of libvirt's XMLs, in the plan and in what is staged.
	password := add("password")
	password.converge(withPassword("old-"+secret) + runState("Running"))
	password.converge(withPassword(secret) + runState("Running"))
	password.observe(withPassword("new-"+secret) + runState("Running"))

	// The guest has said its addresses, and more than the interface is asked about.
	addressed := add("addressed")
	addressed.converge(web("1Gi", "") + runState("Running"))
	mac := strings.ToUpper(addressed.latest.Instances[0].Status.Devices.Interfaces[0].MAC)
	addressed.facts.Addresses = map[string][]plan.Address{
		"web": {
			{MAC: mac, IP: netip.MustParseAddr("192.0.2.9"), Source: plan.FromAgent}, {MAC: mac, IP: netip.MustParseAddr("2001:db8::9"), Source: plan.FromAgent},
			{MAC: "52:54:00:00:00:01", IP: netip.MustParseAddr("192.0.2.10"), Source: plan.FromAgent}, {IP: netip.MustParseAddr("192.0.2.11"), Source: plan.FromAgent},
		},
		"other": {{MAC: mac, IP: netip.MustParseAddr("192.0.2.12"), Source: plan.FromLease}},
	}
	addressed.latest = Report(addressed.latest, addressed.facts)
	return all
}

// withPassword is the config with a screen behind a password.
func withPassword(password string) string {
	return strings.Replace(web("1Gi", ""), "      networks:\n", "      domainXML: |\n        <domain><devices>"+
		"<graphics type='vnc' passwd='"+password+"'/></devices></domain>\n      networks:\n", 1)
}
