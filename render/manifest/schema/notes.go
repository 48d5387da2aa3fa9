package schema

import (
	"reflect"

	kubevirt "kubevirt.io/api/core/v1"
)

// note is a field of a type.
type note struct {
	owner reflect.Type
	field string
}

// notes are the texts for fields of KubeVirt's that mean something else without a cluster.
func notes() map[note]string {
	return map[note]string{
		{reflect.TypeFor[kubevirt.Memory](), "guest"}:  "How much memory the guest has. There is no default.",
		{reflect.TypeFor[kubevirt.Firmware](), "uuid"}: "The machine's UUID. When it is left out, it follows from the fleet's name and the machine's, so that a machine that is built anew is itself.",
		{reflect.TypeFor[kubevirt.CPU](), "model"}: "A model that libvirt knows, or host-passthrough for the host's own CPU, or host-model for what " +
			"comes closest to it under a name.",
		{reflect.TypeFor[kubevirt.Machine](), "type"}: "The machine type. A type without a version is made a versioned one when the domain is first defined, and stays that.",
		{reflect.TypeFor[kubevirt.Disk](), "name"}:    "The name of the disk, and of the volume that it shows to the guest: a DNS label.",
	}
}
