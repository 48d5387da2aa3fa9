package render

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/secret"
)

// seeded makes the volume a cloud-init image. Its name changes with its content, so that an edit shows.
func (v Volume) seeded(i *Instance, from manifest.Volume) (Volume, error) {
	seed, label, err := seedFiles{}, "", error(nil)
	if from.CloudInitNoCloud != nil {
		label = "cidata"
		seed, err = noCloud(i, from.CloudInitNoCloud)
	} else {
		label = "config-2"
		seed, err = configDrive(i, from.CloudInitConfigDrive)
	}
	if err != nil {
		return v, err
	}
	v.Kind, v.Format, v.Seed, v.Label = VolumeSeed, "raw", seed.content, label
	v.File = i.Name + "." + from.Name + "-" + seedDigest(seed) + ".iso"
	return v, nil
}

// seedFiles are the files of an image by their paths in it. tokens stand for those that are secret.
type seedFiles struct {
	content secret.Files
	tokens  map[string]string
}

// noCloud is the files of a NoCloud image. The instance-id stays the same for as long as the machine does, so that an
// edit of the user data does not make cloud-init set the machine up anew.
func noCloud(i *Instance, c *manifest.CloudInit) (seedFiles, error) {
	files := map[string][]byte{
		"meta-data": fmt.Appendf(nil, "instance-id: %s\nlocal-hostname: %s\n", i.UUID, i.Name),
		"user-data": {},
	}
	if network := fixedAddresses(i); network != nil {
		files["network-config"] = network
	}
	return put(i, c, files, "user-data", "network-config")
}

// configDrive is the files of a config drive in OpenStack's form.
func configDrive(i *Instance, c *manifest.CloudInit) (seedFiles, error) {
	const at = "openstack/latest/"
	meta, err := json.Marshal(map[string]string{"uuid": i.UUID, "instance_id": i.UUID, "hostname": i.Name, "local-hostname": i.Name, "name": i.Name})
	if err != nil {
		return seedFiles{}, fmt.Errorf("cannot write the meta data: %w", err)
	}
	files := map[string][]byte{at + "meta_data.json": meta, at + "user_data": {}}
	return put(i, c, files, at+"user_data", at+"network_data.json")
}

// fixedAddresses is the network configuration (version 2) of the interfaces that have addresses; nil when none has.
func fixedAddresses(i *Instance) []byte {
	ethernets := map[string]any{}
	fixed := false
	for _, nic := range i.Spec.Domain.Devices.Interfaces {
		e := map[string]any{"match": map[string]any{"macaddress": nic.MacAddress}}
		if len(nic.Addresses) > 0 {
			e["addresses"], fixed = nic.Addresses, true
		} else {
			e["dhcp4"] = true
		}
		ethernets[nic.Name] = e
	}
	if !fixed {
		return nil
	}
	text, err := yaml.Marshal(map[string]any{"version": 2, "ethernets": ethernets})
	if err != nil {
		panic(fmt.Sprintf("render: cannot write a network configuration: %v", err)) // strings and maps of them
	}
	return text
}

// unreached are fixed addresses that no seed takes to the guest.
func unreached(spec *manifest.InstanceSpec) []manifest.FieldProblem {
	why := "reach the guest through its seed: add a cloudInitNoCloud volume, or take them out"
	for _, v := range spec.Volumes {
		if c := v.CloudInitNoCloud; c != nil {
			if c.NetworkData == "" && c.NetworkDataBase64 == "" && c.NetworkDataSecretRef == nil {
				return nil
			}
			why = "cannot be said together with the seed's networkData: say them there, or take that out"
		}
	}
	var problems []manifest.FieldProblem
	for n, nic := range spec.Domain.Devices.Interfaces {
		if len(nic.Addresses) > 0 {
			problems = append(problems, manifest.FieldProblem{Field: fmt.Sprintf("domain.devices.interfaces[%d].addresses", n), Message: why})
		}
	}
	return problems
}

// seedDigest is of what goes into the image, not of the image, which holds the time that it was made. Of what is secret the
// token counts: the digest is in a file's name.
func seedDigest(seed seedFiles) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(seed.content)) {
		content := seed.content[name]
		if token, ok := seed.tokens[name]; ok {
			content = []byte(token)
		}
		fmt.Fprintf(h, "%s %d\n", name, len(content))
		h.Write(content)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// put adds what a document says to the files of a seed.
func put(i *Instance, c *manifest.CloudInit, files secret.Files, user, network string) (seedFiles, error) {
	seed := seedFiles{files, map[string]string{}}
	for _, f := range []struct {
		name, field, text, encoded string
		ref                        *manifest.SecretRef
	}{
		{user, "userDataBase64", c.UserData, c.UserDataBase64, c.UserDataSecretRef},
		{network, "networkDataBase64", c.NetworkData, c.NetworkDataBase64, c.NetworkDataSecretRef},
	} {
		switch {
		case f.text != "":
			files[f.name] = []byte(f.text)
		case f.encoded != "":
			raw, err := base64.StdEncoding.DecodeString(f.encoded)
			if err != nil {
				return seed, fmt.Errorf("cannot decode %s: %w", f.field, err)
			}
			files[f.name] = raw
		case f.ref != nil:
			s := i.found[f.ref]
			files[f.name], seed.tokens[f.name] = s.value.Bytes(), s.token
		}
	}
	return seed, nil
}
