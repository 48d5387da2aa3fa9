package plan

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// TestEveryFieldHasAnEffect: a field that a template can have is in the table, itself or what it is a part of, or is here
// with the reason why it is not.
func TestEveryFieldHasAnEffect(t *testing.T) {
	elsewhere := map[string]string{
		"terminationGracePeriodSeconds":                                 "the agent's own: it holds from the next stop",
		"domainXML":                                                     "its elements are in the table",
		"domainXMLFrom":                                                 "its elements are in the table",
		"domain.resources.limits":                                       "becomes memory and CPUs",
		"domain.resources.requests":                                     "becomes memory and CPUs",
		"domain.ioThreads.supplementalPoolThreadCount":                  "becomes iothreads",
		"domain.devices.autoattachInputDevice":                          "becomes an input",
		"domain.devices.autoattachPodInterface":                         "is refused unless it says nothing",
		"domain.devices.disableHotplug":                                 "is for a machine that is made",
		"domain.devices.gpus[].deviceName":                              "becomes a hostdev",
		"domain.devices.gpus[].name":                                    "becomes a hostdev",
		"domain.devices.gpus[].virtualGPUOptions.display.enabled":       "becomes a hostdev",
		"domain.devices.gpus[].virtualGPUOptions.display.ramFB.enabled": "becomes a hostdev",
	}
	var fields []*regexp.Regexp
	for _, r := range rows {
		if r.spec != "" {
			pattern := regexp.QuoteMeta(r.spec)
			pattern = strings.NewReplacer(`\$1\$2`, `[^].]*`, `\$1`, `[^].]*`, `\$2`, `[^].]*`).Replace(pattern)
			fields = append(fields, regexp.MustCompile(`^`+pattern+`($|\.|\[)`))
		}
	}
	for _, path := range manifest.Supported() {
		probe := strings.HasPrefix(path, "readinessProbe.") // the agent's own
		if probe || elsewhere[path] != "" || slices.ContainsFunc(fields, func(f *regexp.Regexp) bool { return f.MatchString(path) || f.MatchString(path+"[]") }) {
			continue
		}
		t.Errorf("%s is in no row", path)
	}
}

// TestTheFirstRowCounts: no row hides one below it whole.
func TestTheFirstRowCounts(t *testing.T) {
	for path, want := range map[string]Effect{
		"currentMemory":                          EffectLive,
		"memory":                                 EffectRestart,
		"vcpu@current":                           EffectLive,
		"vcpu":                                   EffectRestart,
		"os/boot":                                EffectNextStart,
		"uuid":                                   EffectBlocked,
		"devices/disk[a]":                        EffectLive,
		"devices/disk[a]/driver@cache":           EffectRestart,
		"devices/disk[a]/boot@order":             EffectNextStart,
		"devices/disk[a]/iotune/total_bytes_sec": EffectLive,
		"devices/interface[a]/link@state":        EffectLive,
		"devices/interface[a]/bandwidth/inbound@peak": EffectLive,
		"devices/interface[a]/model@type":             EffectRestart,
		"devices/graphics[vnc]@passwd":                EffectLive,
		"devices/graphics[vnc]@port":                  EffectRestart,
		"devices/redirdev":                            EffectRestart,
	} {
		if got := effectOf(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestFamily: a machine stays of its kind, whatever the version.
func TestFamily(t *testing.T) {
	for _, tt := range []struct {
		have, want string
		changes    int
	}{
		{"pc-q35-7.2", "q35", 0}, {"pc-q35-7.2", "pc-q35-8.0", 0}, {"pc-q35-7.2", "pc", 1}, {"pc-i440fx-7.2", "pc", 0},
		{"pc-i440fx-7.2", "pc-q35-7.2", 1}, {"virt-7.2", "virt", 0}, {"pc-q35-rhel9.2.0", "q35", 0},
	} {
		element := func(machine string) *domxml.Element {
			e := domxml.New("domain")
			e.Append(domxml.New("os")).Append(domxml.New("type", "machine", machine, "arch", "x86_64"))
			return e
		}
		want := element(tt.want)
		if got := keepMachine(want, element(tt.have)); len(got) != tt.changes || (want.Child("os/type").Attr("machine") == "") != (tt.changes == 1) {
			t.Errorf("%s to %s: %v", tt.have, tt.want, got)
		}
	}
}
