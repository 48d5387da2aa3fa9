package schema

import (
	"reflect"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// note is a field of a type.
type note struct {
	owner reflect.Type
	field string
}

// notes are the texts for fields of KubeVirt's that mean something else without a cluster.
func notes() map[note]string {
	spec, _ := reflect.TypeFor[manifest.InstanceSpec]().FieldByName("kubevirtSpec")
	return map[note]string{
		{reflect.TypeFor[kubevirt.Memory](), "guest"}:  "How much memory the guest has. There is no default.",
		{reflect.TypeFor[kubevirt.Firmware](), "uuid"}: "The machine's UUID. When it is left out, it follows from the fleet's name and the machine's, so that a machine that is built anew is itself.",
		{reflect.TypeFor[kubevirt.CPU](), "model"}: "A model that libvirt knows, or host-passthrough for the host's own CPU, or host-model for what " +
			"comes closest to it under a name, or hypervisor-default for QEMU's own.",
		{reflect.TypeFor[kubevirt.Machine](), "type"}: "The machine type. A type without a version is made a versioned one when the domain is first defined, and stays that.",
		{spec.Type, "readinessProbe"}: "How the agent finds out whether the guest is up. Restarts of a group's members, and rollback, wait for it; " +
			"without one, a guest is up when its agent answers, or when it has run for 10 s where no agent has been seen.",
		{reflect.TypeFor[kubevirt.Probe](), "initialDelaySeconds"}: "How long after the start the first probe is made.",
		{reflect.TypeFor[kubevirt.Probe](), "timeoutSeconds"}:      "How long an answer may take.",
		{reflect.TypeFor[kubevirt.Probe](), "failureThreshold"}: "How many probes in a row have to fail for the guest not to be ready any more. Where it is said, a guest that is " +
			"restarted has initialDelaySeconds and this many periods to become ready; where it is not, 10 minutes.",
		{reflect.TypeFor[kubevirt.Probe](), "periodSeconds"}:    "How often a probe is made.",
		{reflect.TypeFor[kubevirt.Probe](), "successThreshold"}: "How many probes in a row have to succeed for the guest to be ready.",
		{reflect.TypeFor[kubevirt.Handler](), "exec"}:           "Ready when a command that the QEMU guest agent runs exits with 0.",
		{reflect.TypeFor[kubevirt.Handler](), "guestAgentPing"}: "Ready when the QEMU guest agent answers.",
		{reflect.TypeFor[kubevirt.Handler](), "httpGet"}:        "Ready when the answer's status is 200 to 399. Certificates are not checked.",
		{reflect.TypeFor[kubevirt.Handler](), "tcpSocket"}:      "Ready when a connection can be opened.",
		{reflect.TypeFor[kubevirt.Disk](), "name"}:              "The name of the disk, and of the volume that it shows to the guest: a DNS label.",
	}
}
