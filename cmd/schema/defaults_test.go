package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// TestDefaults completes a machine that says as little as can be of everything that has a default.
func TestDefaults(t *testing.T) {
	file := manifest.Read("a.yaml", []byte(`
apiVersion: gitvirt.io/v1alpha1
kind: VirtualMachineInstanceConfig
metadata: {name: a}
spec:
  template:
    spec:
      readinessProbe: {guestAgentPing: {}}
      domain:
        memory: {guest: 1Gi}
        firmware: {bootloader: {efi: {}}}
        devices:
          disks:
          - {name: d, disk: {}}
          - {name: c, cdrom: {}}
          - {name: i, cdrom: {}}
          - {name: net}
          interfaces:
          - {name: lan}
      networks:
      - {name: lan, libvirt: {network: default}}
      volumes:
      - {name: d, volume: {size: 1Gi}}
      - {name: c, cloudInitNoCloud: {userData: x}}
      - {name: i, iso: {name: a.iso}}
      - {name: net, network: {protocol: nbd, hosts: [{name: a}]}}
`))
	set := manifest.Collect([]manifest.File{file}, nil)
	if set.Configs["a"] == nil {
		t.Fatal(file.Problems, set.Problems)
	}
	instance, problems := render.Place(set, "").Unplaced("a", render.Options{Fleet: "f", DomainType: "kvm"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	count := 0
	visit([]*manifest.Form{manifest.FormOf(manifest.KindFlavour)}, func(f manifest.FormField, path string) {
		if f.Default == nil || path == "spec.networks.direct.mode" { // that one is said where the XML is made
			return
		}
		count++
		path = strings.TrimPrefix(path, "spec.")
		found := false
		for _, v := range valuesAt(reflect.ValueOf(instance.Spec), strings.Split(path, ".")) {
			found = true
			if got, want := v, f.Default; !reflect.DeepEqual(got, want) {
				t.Errorf("%s is completed to %v, and the documentation says %v", path, got, want)
			}
		}
		if !found {
			t.Errorf("%s was not completed: say in this test what has it", path)
		}
	})
	if count < 8 {
		t.Errorf("only %d defaults were looked at", count)
	}
	if instance.RestartPolicy != "Always" || instance.Rollout != "Stage" || instance.DeletionPolicy != "Retain" || instance.Run != 1 {
		t.Errorf("the config's and the run state's own defaults are %+v", instance)
	}
}

// valuesAt finds the values of a field, as strings, bools and ints, through pointers and lists; by the JSON names.
func valuesAt(v reflect.Value, path []string) (values []any) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			values = append(values, valuesAt(v.Index(i), path)...)
		}
		return values
	case len(path) == 0 && v.Kind() == reflect.String:
		return []any{v.String()}
	case len(path) == 0 && v.Kind() == reflect.Bool:
		return []any{v.Bool()}
	case len(path) == 0 && v.CanInt():
		return []any{int(v.Int())}
	case len(path) == 0 && v.CanUint():
		return []any{int(v.Uint())}
	case v.Kind() != reflect.Struct || len(path) == 0:
		return nil
	}
	var nearest *reflect.StructField
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == path[0] && (nearest == nil || len(f.Index) < len(nearest.Index)) {
			nearest = &f
		}
	}
	if nearest == nil {
		return nil
	}
	return valuesAt(v.FieldByIndex(nearest.Index), path[1:])
}
