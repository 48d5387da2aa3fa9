package manifest

import (
	"math"
	"reflect"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"
)

// What the checks of values ask for, as far as a table can say it. A row that is missing makes a Form looser than the
// reader; one that is wrong makes it stricter, which a test finds.

// requiredFields are those that no document can do without.
func requiredFields() map[owned]bool {
	return map[owned]bool{
		{reflect.TypeFor[Header](), "apiVersion"}:      true,
		{reflect.TypeFor[Header](), "kind"}:            true,
		{reflect.TypeFor[Header](), "metadata"}:        true,
		{reflect.TypeFor[Meta](), "name"}:              true,
		{reflect.TypeFor[RunState](), "spec"}:          true,
		{reflect.TypeFor[Group](), "spec"}:             true,
		{reflect.TypeFor[Placement](), "hostSelector"}: true,
		{reflect.TypeFor[Suspend](), "reason"}:         true,
		{reflect.TypeFor[kubevirt.Disk](), "name"}:     true,
		{reflect.TypeFor[Interface](), "name"}:         true,
		{reflect.TypeFor[Network](), "name"}:           true,
		{reflect.TypeFor[Volume](), "name"}:            true,
		{reflect.TypeFor[HostNetwork](), "spec"}:       true,
		{reflect.TypeFor[StoragePool](), "spec"}:       true,
		{reflect.TypeFor[NetworkDomain](), "name"}:     true,
		{reflect.TypeFor[NetworkAddress](), "address"}: true,
		{reflect.TypeFor[BootP](), "file"}:             true,
		{reflect.TypeFor[DNSHost](), "ip"}:             true,
		{reflect.TypeFor[DNSHost](), "names"}:          true,
		{reflect.TypeFor[DNSService](), "service"}:     true,
		{reflect.TypeFor[DNSService](), "protocol"}:    true,
		{reflect.TypeFor[DNSText](), "name"}:           true,
		{reflect.TypeFor[DNSText](), "value"}:          true,
		{reflect.TypeFor[NetworkRoute](), "address"}:   true,
		{reflect.TypeFor[NetworkRoute](), "gateway"}:   true,
		{reflect.TypeFor[VLANTags](), "tags"}:          true,
		{reflect.TypeFor[VLANTag](), "id"}:             true,
		{reflect.TypeFor[VirtualPort](), "type"}:       true,
		{reflect.TypeFor[PortGroup](), "name"}:         true,
		{reflect.TypeFor[AddressRange](), "start"}:     true,
		{reflect.TypeFor[AddressRange](), "end"}:       true,
		{reflect.TypeFor[PortRange](), "start"}:        true,
		{reflect.TypeFor[PortRange](), "end"}:          true,
		{reflect.TypeFor[PoolHost](), "name"}:          true,
		{reflect.TypeFor[PoolAuth](), "username"}:      true,
	}
}

// pattern is what strings have to match: a string itself, or a map's keys and values.
type pattern struct{ value, keys string }

const (
	labelPattern    = `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	hostPattern     = `^` + subdomain + `$`
	subdomain       = `[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
	qualified       = `[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`
	keyPattern      = `^(` + subdomain + `/)?` + qualified + `$`
	absolutePattern = `^/`
	devicePattern   = `^[^/ \t\r\n]{1,15}$`
	base64Pattern   = `^[A-Za-z0-9+/\r\n]*(=[\r\n]*){0,2}$`
	quantityPattern = `^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?$`
	textPathPattern = `^[^/\\][^\\]*$`
)

// patterns are those of strings and of maps of strings.
func patterns() map[owned]pattern {
	label, path := pattern{value: labelPattern}, pattern{value: absolutePattern}
	return map[owned]pattern{
		{reflect.TypeFor[Meta](), "name"}:                   label,
		{reflect.TypeFor[Meta](), "labels"}:                 {keys: keyPattern, value: `^(` + qualified + `)?$`},
		{reflect.TypeFor[Meta](), "annotations"}:            {keys: keyPattern},
		{reflect.TypeFor[ConfigSpec](), "flavour"}:          label,
		{reflect.TypeFor[ConfigSpec](), "presets"}:          label,
		{reflect.TypeFor[GroupSpec](), "config"}:            label,
		{reflect.TypeFor[GroupSpec](), "hosts"}:             {value: hostPattern},
		{reflect.TypeFor[HostDevice](), "pci"}:              {value: pciForm.String()},
		{reflect.TypeFor[HostDevice](), "usb"}:              {value: usbForm.String()},
		{reflect.TypeFor[HostDevice](), "mdev"}:             {value: uuidForm.String()},
		{reflect.TypeFor[HostDevice](), "instance"}:         label,
		{reflect.TypeFor[RunStateSpec](), "config"}:         label,
		{reflect.TypeFor[RunStateSpec](), "host"}:           {value: hostPattern},
		{reflect.TypeFor[RunStateSpec](), "revision"}:       {value: commitForm.String()},
		{reflect.TypeFor[GroupSpec](), "revision"}:          {value: commitForm.String()},
		{reflect.TypeFor[kubevirt.Disk](), "name"}:          label,
		{reflect.TypeFor[kubevirt.Disk](), "serial"}:        {value: serialForm.String()},
		{reflect.TypeFor[kubevirt.Firmware](), "uuid"}:      {value: uuidForm.String()},
		{reflect.TypeFor[Interface](), "name"}:              label,
		{reflect.TypeFor[Interface](), "macAddress"}:        {value: macForm.String()},
		{reflect.TypeFor[Network](), "name"}:                label,
		{reflect.TypeFor[NetworkSource](), "bridge"}:        {value: devicePattern},
		{reflect.TypeFor[NetworkSource](), "pci"}:           {value: pciForm.String()},
		{reflect.TypeFor[DirectNetwork](), "dev"}:           {value: devicePattern},
		{reflect.TypeFor[Volume](), "name"}:                 label,
		{reflect.TypeFor[Secret](), "name"}:                 label,
		{reflect.TypeFor[SecretRef](), "name"}:              {value: secretNamePattern},
		{reflect.TypeFor[StorageVolume](), "pool"}:          {value: `^[^/\n]*$`},
		{reflect.TypeFor[Image](), "path"}:                  path,
		{reflect.TypeFor[Image](), "container"}:             {value: imageForm.String()},
		{reflect.TypeFor[ContainerDisk](), "image"}:         {value: imageForm.String()},
		{reflect.TypeFor[ContainerDisk](), "path"}:          path,
		{reflect.TypeFor[HostDisk](), "path"}:               path,
		{reflect.TypeFor[Block](), "path"}:                  path,
		{reflect.TypeFor[HostPath](), "path"}:               path,
		{reflect.TypeFor[CloudInit](), "userDataBase64"}:    {value: base64Pattern},
		{reflect.TypeFor[CloudInit](), "networkDataBase64"}: {value: base64Pattern},
		{reflect.TypeFor[InstanceSpec](), "domainXMLFrom"}:  {value: textPathPattern},
		{reflect.TypeFor[HostScope](), "hosts"}:             {value: hostPattern},
		{reflect.TypeFor[Ownership](), "uuid"}:              {value: uuidForm.String()},
		{reflect.TypeFor[HostNetworkSpec](), "macAddress"}:  {value: macForm.String()},
		{reflect.TypeFor[NetworkBridge](), "name"}:          {value: devicePattern},
		{reflect.TypeFor[NetworkForward](), "devices"}:      {value: devicePattern},
		{reflect.TypeFor[NetworkAddress](), "tftpRoot"}:     path,
		{reflect.TypeFor[DHCPHost](), "macAddress"}:         {value: macForm.String()},
		{reflect.TypeFor[DHCPHost](), "id"}:                 {value: idForm.String()},
		{reflect.TypeFor[StoragePoolSpec](), "path"}:        path,
		{reflect.TypeFor[StoragePoolSpec](), "mode"}:        {value: modeForm.String()},
		{reflect.TypeFor[PoolAuth](), "uuid"}:               {value: uuidForm.String()},
	}
}

// ranges are the bounds of integers that are checked with the values.
func ranges() map[owned][2]int64 {
	return map[owned][2]int64{
		{reflect.TypeFor[Network](), "vlan"}:             {1, 4094},
		{reflect.TypeFor[GroupSpec](), "replicas"}:       {0, maxReplicas},
		{reflect.TypeFor[GroupSpec](), "maxUnavailable"}: {1, math.MaxInt32},
		{reflect.TypeFor[HostNetworkSpec](), "mtu"}:      {68, 65535},
		{reflect.TypeFor[VLANTag](), "id"}:               {1, 4094},
	}
}

// exclusives are the fields of which an object says one at most.
func exclusives() map[reflect.Type][][]string {
	sets := map[reflect.Type][][]string{
		reflect.TypeFor[RunStateSpec]():   {{"host", "placement"}},
		reflect.TypeFor[GroupSpec]():      {{"hosts", "hostSelector"}},
		reflect.TypeFor[HostScope]():      {{"hosts", "hostSelector"}},
		reflect.TypeFor[PoolAuth]():       {{"secretRef", "usage", "uuid"}},
		reflect.TypeFor[HostDevice]():     {{"pci", "usb", "mdev"}},
		reflect.TypeFor[InstanceSpec]():   {{"domainXML", "domainXMLFrom"}},
		reflect.TypeFor[kubevirt.Probe](): {{"exec", "guestAgentPing", "httpGet", "tcpSocket"}},
		reflect.TypeFor[Image]():          {{"path", "container"}},
		reflect.TypeFor[CloudInit](): {{"userData", "userDataBase64", "secretRef"},
			{"networkData", "networkDataBase64", "networkDataSecretRef"}},
		reflect.TypeFor[SecretRef](): {{"file", "hostFile", "name"}},
	}
	for _, t := range []reflect.Type{
		reflect.TypeFor[NetworkSource](), reflect.TypeFor[VolumeSource](), reflect.TypeFor[kubevirt.DiskDevice](),
		reflect.TypeFor[kubevirt.InterfaceBindingMethod](), reflect.TypeFor[kubevirt.Bootloader](),
	} {
		var all []string
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			all = append(all, name)
		}
		sets[t] = append(sets[t], all)
	}
	return sets
}

// needed are the fields of which an object says one.
func needed() map[reflect.Type][][]string {
	sets := map[reflect.Type][][]string{}
	for _, t := range []reflect.Type{reflect.TypeFor[RunStateSpec](), reflect.TypeFor[GroupSpec](), reflect.TypeFor[HostDevice](),
		reflect.TypeFor[HostScope](), reflect.TypeFor[PoolAuth]()} {
		sets[t] = exclusives()[t]
	}
	return sets
}

// fieldDefaults are what leaving out a field means, where that does not depend on anything else.
func fieldDefaults() map[owned]any {
	config, cpu, probe := reflect.TypeFor[ConfigSpec](), reflect.TypeFor[kubevirt.CPU](), reflect.TypeFor[kubevirt.Probe]()
	return map[owned]any{
		{config, "restartPolicy"}:                                          string(RestartAlways),
		{config, "rollout"}:                                                string(RolloutStage),
		{config, "rollback"}:                                               string(RollbackNever),
		{config, "deletionPolicy"}:                                         string(DeletionRetain),
		{reflect.TypeFor[RunStateSpec](), "state"}:                         string(StateRunning),
		{reflect.TypeFor[RunStateSpec](), "run"}:                           1,
		{reflect.TypeFor[RunStateSpec](), "adopt"}:                         false,
		{reflect.TypeFor[GroupSpec](), "state"}:                            string(StateRunning),
		{reflect.TypeFor[GroupSpec](), "replicas"}:                         1,
		{reflect.TypeFor[GroupSpec](), "maxUnavailable"}:                   1,
		{reflect.TypeFor[StorageClass](), "pool"}:                          "default",
		{reflect.TypeFor[StorageClass](), "format"}:                        "qcow2",
		{probe, "timeoutSeconds"}:                                          1,
		{probe, "periodSeconds"}:                                           10,
		{probe, "successThreshold"}:                                        1,
		{probe, "failureThreshold"}:                                        3,
		{cpu, "sockets"}:                                                   1,
		{cpu, "cores"}:                                                     1,
		{cpu, "threads"}:                                                   1,
		{reflect.TypeFor[kubevirt.Machine](), "type"}:                      "q35",
		{reflect.TypeFor[kubevirt.EFI](), "secureBoot"}:                    true,
		{reflect.TypeFor[kubevirt.FeatureAPIC](), "enabled"}:               true,
		{reflect.TypeFor[kubevirt.DiskTarget](), "bus"}:                    "virtio",
		{reflect.TypeFor[kubevirt.CDRomTarget](), "bus"}:                   "sata",
		{reflect.TypeFor[kubevirt.CDRomTarget](), "readonly"}:              true,
		{reflect.TypeFor[Interface](), "model"}:                            "virtio",
		{reflect.TypeFor[DirectNetwork](), "mode"}:                         "bridge",
		{reflect.TypeFor[StorageVolume](), "pool"}:                         "default",
		{reflect.TypeFor[StorageVolume](), "format"}:                       "qcow2",
		{reflect.TypeFor[InstanceSpec](), "terminationGracePeriodSeconds"}: 30,
		{reflect.TypeFor[Ownership](), "rollout"}:                          string(RolloutStage),
		{reflect.TypeFor[Ownership](), "adopt"}:                            false,
		{reflect.TypeFor[Ownership](), "active"}:                           true,
		{reflect.TypeFor[Ownership](), "autostart"}:                        true,
		{reflect.TypeFor[NetworkForward](), "mode"}:                        ForwardNAT,
		{reflect.TypeFor[NetworkBridge](), "stp"}:                          true,
		{reflect.TypeFor[NetworkDNS](), "enabled"}:                         true,
		{reflect.TypeFor[NetworkDNS](), "forwardPlainNames"}:               true,
		{reflect.TypeFor[StoragePoolSpec](), "type"}:                       "dir",
	}
}
