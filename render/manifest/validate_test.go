package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestValidate checks what only a completed spec can be asked; the goldens cover what a document can be asked by itself.
func TestValidate(t *testing.T) {
	f := Read("f.yaml", []byte(`apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineFlavour
metadata: {name: f}
spec:
  domain:
    devices:
      disks: [{name: a}, {name: b}]
      interfaces: [{name: lan}, {name: wan}]
  networks: [{name: lan, libvirt: {}}, {name: dmz, bridge: br0}, {name: wan}]
  volumes:
  - {name: a, emptyDisk: {}}
  - {name: c, hostDisk: {}}
  - {name: d, volume: {image: {}}}
  - {name: e, volume: {}}
  - {name: g, cloudInitNoCloud: {}}
  - {name: h}
`))
	if len(f.Problems) > 0 {
		t.Fatalf("a flavour may say half of everything: %v", f.Problems)
	}
	spec, problems := Decode(f.Documents[0].spec())
	var got []string
	for _, p := range append(problems, Validate(spec)...) {
		got = append(got, p.Error())
	}
	want := strings.Split(strings.TrimSpace(`
networks[0].libvirt.network: is missing; say a libvirt network's name
networks[2]: says nothing to take it from; say one of libvirt, bridge, direct, pci, user
volumes[0].emptyDisk.capacity: must be more than 0, such as 10Gi
volumes[1].hostDisk.path: is missing; say the file's path on the host
volumes[1].hostDisk.type: is missing; say Disk (the file is there) or DiskOrCreate
volumes[2].volume.image.path: is missing; say the file's path on the host
volumes[3].volume: has neither a size nor an image; say one
volumes[4].cloudInitNoCloud: has no data; say userData
volumes[5]: says nothing to take it from; say one of volume, containerDisk, emptyDisk, hostDisk, block, hostPath, cloudInitNoCloud, cloudInitConfigDrive
domain.devices.disks[1]: there is no volume of the name "b"; add one to volumes
volumes[1]: no disk has the name "c"; add one to domain.devices.disks
volumes[2]: no disk has the name "d"; add one to domain.devices.disks
volumes[3]: no disk has the name "e"; add one to domain.devices.disks
volumes[4]: no disk has the name "g"; add one to domain.devices.disks
volumes[5]: no disk has the name "h"; add one to domain.devices.disks
networks[1]: no interface has the name "dmz"; add one to domain.devices.interfaces`), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDecodeRefuses decodes trees that Read did not make.
func TestDecodeRefuses(t *testing.T) {
	for want, tree := range map[string]Tree{
		"domian: unknown field; did you mean \"domain\"?":                {"domian": nil},
		"domain: expected a mapping, found 1":                            {"domain": 1},
		"domain.cpu.cores: expected a whole number, found 2":             {"domain": Tree{"cpu": Tree{"cores": "2"}}},
		"domain.cpu.cores: must be at most 4294967295":                   {"domain": Tree{"cpu": Tree{"cores": int64(1) << 40}}},
		"domain.devices.gpus: is not supported yet; say it in domainXML": {"domain": Tree{"devices": Tree{"gpus": []any{}}}},
		"volumes: expected a list, found map[string]interface {}":        {"volumes": map[string]any{}},
		"volumes[1].name: expected a string, found []interface {}":       {"volumes": []any{nil, Tree{"name": []any{}}}},
		"domainXML: expected a string, found struct {}":                  {"domainXML": struct{}{}},
	} {
		_, problems := Decode(tree)
		if got := strings.Trim(fmt.Sprint(problems), "[]"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if spec, problems := Decode(nil); spec == nil || len(problems) > 0 {
		t.Errorf("nothing decodes to %v, %v", spec, problems)
	}
}

func TestPublic(t *testing.T) {
	const secret = "hunter2"
	spec := InstanceSpec{
		Volumes: []Volume{{Name: "root", VolumeSource: VolumeSource{EmptyDisk: &EmptyDisk{}}}, {Name: "init", VolumeSource: VolumeSource{CloudInitNoCloud: &CloudInit{
			UserData: secret, UserDataBase64: secret + "b", NetworkData: secret, NetworkDataBase64: secret + "c"}}}},
		DomainXML: `<domain><graphics type='vnc' passwd='hunter2' passwdValidTo='2026-01-01'/><graphics passwd = "hunter2"/></domain>`,
	}
	before := fmt.Sprintf("%+v", *spec.Volumes[1].CloudInitNoCloud)
	got := Public(spec)
	init := *got.Volumes[1].CloudInitNoCloud
	if shown := fmt.Sprintf("%+v %s", init, got.DomainXML); strings.Contains(shown, secret) {
		t.Errorf("the secret shows: %s", shown)
	}
	if init.UserData != "sha256:f52fbd32b2b3" || init.NetworkData != init.UserData || init.UserDataBase64 == init.UserData {
		t.Errorf("digests: %+v", init)
	}
	if want := `<domain><graphics type='vnc' passwd='sha256:f52fbd32b2b3' passwdValidTo='2026-01-01'/><graphics passwd = "sha256:f52fbd32b2b3"/></domain>`; got.DomainXML != want {
		t.Errorf("domainXML: %s", got.DomainXML)
	}
	if after := fmt.Sprintf("%+v", *spec.Volumes[1].CloudInitNoCloud); before != after || !strings.Contains(spec.DomainXML, secret) {
		t.Error("the spec was changed")
	}
	if empty := Public(InstanceSpec{Volumes: []Volume{{VolumeSource: VolumeSource{CloudInitNoCloud: &CloudInit{}}}}}); *empty.Volumes[0].CloudInitNoCloud != (CloudInit{}) {
		t.Error("nothing has a digest")
	}
}
