package render

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"sigs.k8s.io/yaml"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/secret"
)

// seeded makes the volume a cloud-init image. Its name changes with its content, so that an edit shows. An instance-id that is
// not the machine's own is in it too (SeedID): a guest sets itself up anew when that changes.
func (v Volume) seeded(i *Instance, in Input, from manifest.Volume) (Volume, error) {
	kind, label, c, write := "cloudInitNoCloud", "cidata", from.CloudInitNoCloud, noCloud
	if c == nil {
		kind, label, c, write = "cloudInitConfigDrive", "config-2", from.CloudInitConfigDrive, configDrive
	}
	s, err := seedOf(i, in, c)
	if err == nil {
		err = write(i, s)
	}
	if err != nil {
		var of fieldError
		if errors.As(err, &of) {
			err = fieldError{kind + "." + of.field, of.err}
		}
		return v, err
	}
	v.Kind, v.Format, v.Seed, v.Label = VolumeSeed, "raw", s.files, label
	v.File = i.Name + "." + from.Name + "-" + seedDigest(s) + idTag(i, s.id) + ".iso"
	return v, nil
}

// seed is what goes into an image.
type seed struct {
	files                secret.Files
	tokens               map[string]string // of files that are secret
	user, network        content
	meta                 map[string]any // that a document says
	metaToken            string
	id, hostname         string
	saysID, saysHostname bool
}

func seedOf(i *Instance, in Input, c *manifest.CloudInit) (*seed, error) {
	s := &seed{files: secret.Files{}, tokens: map[string]string{}, id: i.UUID, hostname: i.Name}
	user, network, meta := cloudInitParts(c)
	said, err := meta.read(i, in, i.Name)
	if err != nil {
		return nil, err
	}
	s.metaToken = said.token
	if said.said && !said.sealed {
		if s.meta, err = readMetaData(said.text); err != nil {
			field := meta.name
			if said.token != "" {
				field = meta.ref
			} else if meta.from != "" {
				field, err = meta.name+"From", fmt.Errorf("%s %w", meta.from, err)
			}
			return nil, fieldError{field, err}
		}
	}
	if name, ok := s.meta[localHostname].(string); ok {
		s.hostname, s.saysHostname = name, true
	}
	if s.user, err = user.read(i, in, s.hostname); err == nil {
		s.network, err = network.read(i, in, s.hostname)
	}
	if err != nil {
		return nil, err
	}
	if id, ok := s.meta[instanceID].(string); ok {
		s.id, s.saysID = id, true
	} else if i.CloudInitPolicy == manifest.CloudInitEveryRun {
		s.id = s.everyRun(i)
	}
	delete(s.meta, instanceID)
	delete(s.meta, localHostname)
	return s, nil
}

// everyRun is an instance-id of this run, and of this content.
func (s *seed) everyRun(i *Instance) string {
	space, err := uuid.Parse(i.UUID)
	if err != nil {
		space = uuid.NameSpaceOID
	}
	h := sha256.New()
	meta, err := json.Marshal(s.meta)
	if err != nil {
		panic(fmt.Sprintf("render: cannot write meta data: %v", err)) // it was read as JSON
	}
	for _, c := range []content{s.user, s.network, {text: meta, token: s.metaToken}} {
		text := c.text
		if c.token != "" {
			text = []byte(c.token)
		}
		fmt.Fprintf(h, "%d\n%s", len(text), text)
	}
	return uuid.NewSHA1(space, fmt.Appendf(nil, "run %d %x", i.Run, h.Sum(nil))).String()
}

// put adds a part to the files.
func (s *seed) put(name string, c content) {
	if !c.said {
		return
	}
	s.files[name] = c.text
	if c.token != "" {
		s.tokens[name] = c.token
	}
}

// putMeta adds the meta data. What is secret of it is in its token, and the instance-id and the name beside it.
func (s *seed) putMeta(name string, text []byte) {
	s.files[name] = text
	if s.metaToken != "" {
		s.tokens[name] = s.metaToken + " " + s.id + " " + s.hostname
	}
}

// noCloud writes the files of a NoCloud image
// (https://cloudinit.readthedocs.io/en/latest/reference/datasources/nocloud.html).
func noCloud(i *Instance, s *seed) error {
	var text []byte
	for _, word := range []struct {
		key, value string
		said       bool
	}{{instanceID, s.id, s.saysID}, {localHostname, s.hostname, s.saysHostname}} {
		if !word.said {
			text = fmt.Appendf(text, "%s: %s\n", word.key, word.value)
			continue
		}
		line, err := yaml.Marshal(map[string]string{word.key: word.value})
		if err != nil {
			return fmt.Errorf("cannot write the meta data: %w", err)
		}
		text = append(text, line...)
	}
	if len(s.meta) > 0 {
		more, err := yaml.Marshal(s.meta)
		if err != nil {
			return fieldError{"metaData", errors.New("cannot be written as YAML")}
		}
		text = append(text, more...)
	}
	s.putMeta("meta-data", text)
	s.files["user-data"] = nil
	if network := fixedAddresses(i); network != nil {
		s.files["network-config"] = network
	}
	s.put("user-data", s.user)
	s.put("network-config", s.network)
	return nil
}

// configDrive writes the files of a config drive in OpenStack's form. cloud-init takes the instance-id from uuid, and the name
// from hostname.
func configDrive(i *Instance, s *seed) error {
	const at = "openstack/latest/"
	words := map[string]any{"uuid": s.id, "instance_id": s.id, "hostname": s.hostname, "local-hostname": s.hostname, "name": i.Name}
	maps.Copy(words, s.meta)
	meta, err := json.Marshal(words)
	if err != nil {
		return fmt.Errorf("cannot write the meta data: %w", err)
	}
	s.putMeta(at+"meta_data.json", meta)
	s.files[at+"user_data"] = nil
	s.put(at+"user_data", s.user)
	s.put(at+"network_data.json", s.network)
	return nil
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
			if _, network, _ := cloudInitParts(c); network == (part{name: network.name, ref: network.ref}) {
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
func seedDigest(s *seed) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		content := s.files[name]
		if token, ok := s.tokens[name]; ok {
			content = []byte(token)
		}
		fmt.Fprintf(h, "%s %d\n", name, len(content))
		h.Write(content)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// idTag tells one instance-id from another in the name of an image; empty for the machine's own.
func idTag(i *Instance, id string) string {
	if id == i.UUID {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("-%x", sum[:4])
}
