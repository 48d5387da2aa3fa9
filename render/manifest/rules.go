package manifest

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	kubevirt "kubevirt.io/api/core/v1"
	instancetype "kubevirt.io/api/instancetype/v1beta1"
)

// enum is the values that a string can have.
type enum struct {
	values []string
	later  []string // known, and not supported yet
}

// typeEnums are the values of the types that have only a few.
func typeEnums() map[reflect.Type]*enum {
	return map[reflect.Type]*enum{
		reflect.TypeFor[RestartPolicy]():  {values: []string{"Always", "OnFailure", "Never"}},
		reflect.TypeFor[Rollout]():        {values: []string{"Stage", "Live", "Restart"}},
		reflect.TypeFor[DeletionPolicy](): {values: []string{"Retain", "Delete"}},
		reflect.TypeFor[Rollback]():       {values: []string{"Never", "OnFailure"}},
		reflect.TypeFor[PowerState]():     {values: []string{"Running", "Stopped", "Paused", "Manual"}},
		// KubeVirt's documentation of DiskTarget and of Disk.
		reflect.TypeFor[kubevirt.DiskBus]():     {values: []string{"virtio", "sata", "scsi", "usb"}},
		reflect.TypeFor[kubevirt.DriverCache](): {values: []string{"none", "writethrough", "writeback"}},
		reflect.TypeFor[kubevirt.DriverIO]():    {values: []string{"native", "threads", "default"}},
		reflect.TypeFor[kubevirt.TrayState]():   {values: []string{"open", "closed"}},
		// What libvirt's formatdomain page has for these; KubeVirt has no more.
		reflect.TypeFor[kubevirt.DiskErrorPolicy](): {values: []string{"stop", "ignore", "report", "enospace"}},
		reflect.TypeFor[kubevirt.IOThreadsPolicy](): {values: []string{"shared", "auto", "supplementalPool"}},
		reflect.TypeFor[kubevirt.InterfaceState]():  {values: []string{"up", "down", "absent"}},
		reflect.TypeFor[kubevirt.InputType]():       {values: []string{"tablet", "keyboard"}},
		reflect.TypeFor[kubevirt.InputBus]():        {values: []string{"usb", "virtio"}},
		reflect.TypeFor[kubevirt.WatchdogAction]():  {values: []string{"poweroff", "reset", "shutdown"}},
		// The third needs libvirt 9.1.
		reflect.TypeFor[kubevirt.PanicDeviceModel](): {values: []string{"hyperv", "isa"}, later: []string{"pvpanic"}},
		reflect.TypeFor[kubevirt.HPETTickPolicy]():   {values: []string{"delay", "catchup", "merge", "discard"}},
		reflect.TypeFor[kubevirt.PITTickPolicy]():    {values: []string{"delay", "catchup", "discard"}},
		reflect.TypeFor[kubevirt.RTCTickPolicy]():    {values: []string{"delay", "catchup"}},
		reflect.TypeFor[kubevirt.RTCTimerTrack]():    {values: []string{"guest", "wall"}},
	}
}

// owned is a field of a Go type, by its JSON name.
type owned struct {
	owner reflect.Type
	field string
}

// fieldEnums are the values of plain strings.
func fieldEnums() map[owned]*enum {
	format := &enum{values: []string{"qcow2", "raw"}}
	return map[owned]*enum{
		{reflect.TypeFor[RunStateSpec](), "moveVolumes"}: {values: []string{"Recreate"}},
		{reflect.TypeFor[GroupSpec](), "moveVolumes"}:    {values: []string{"Recreate"}},
		{reflect.TypeFor[StorageClass](), "format"}:      format,
		{reflect.TypeFor[StorageVolume](), "format"}:     format,
		{reflect.TypeFor[Image](), "format"}:             format,
		{reflect.TypeFor[HostDisk](), "type"}:            {values: []string{"Disk", "DiskOrCreate"}},
		{reflect.TypeFor[DirectNetwork](), "mode"}:       {values: []string{"bridge", "vepa", "private", "passthrough"}},
		// KubeVirt's documentation of Interface.
		{reflect.TypeFor[Interface](), "model"}: {values: []string{
			"virtio", "e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139"}},
		{reflect.TypeFor[InstanceSpec](), "architecture"}: {values: []string{"amd64"}, later: []string{"arm64", "s390x", "ppc64le"}},
		{reflect.TypeFor[HostNetworkSpec](), "rollout"}:   {values: []string{"Stage", "Restart"}},
		{reflect.TypeFor[StoragePoolSpec](), "rollout"}:   {values: []string{"Stage", "Restart"}},
		{reflect.TypeFor[NetworkForward](), "mode"}: {values: []string{
			ForwardNAT, ForwardRoute, ForwardOpen, ForwardIsolated, ForwardBridge, ForwardPrivate, ForwardVEPA, ForwardPassthrough}},
		{reflect.TypeFor[NetworkBridge](), "macTableManager"}: {values: []string{"kernel", "libvirt"}},
		{reflect.TypeFor[VLANTag](), "nativeMode"}:            {values: []string{"tagged", "untagged"}},
		{reflect.TypeFor[VirtualPort](), "type"}:              {values: []string{"openvswitch", "midonet", "802.1Qbg", "802.1Qbh"}},
		{reflect.TypeFor[StoragePoolSpec](), "type"}: {values: []string{
			"dir", "fs", "netfs", "logical", "disk", "iscsi", "iscsi-direct", "scsi", "mpath", "rbd", "gluster", "zfs"}},
		{reflect.TypeFor[PoolAuth](), "type"}: {values: []string{"chap", "ceph"}},
		// libvirt's policies of a CPU's features; KubeVirt's documentation has the same.
		{reflect.TypeFor[kubevirt.CPUFeature](), "policy"}:  {values: []string{"force", "require", "optional", "disable", "forbid"}},
		{reflect.TypeFor[corev1.HTTPGetAction](), "scheme"}: {values: []string{"HTTP", "HTTPS"}},
		{reflect.TypeFor[kubevirt.SoundDevice](), "model"}:  {values: []string{"ich9", "ac97"}},
		{reflect.TypeFor[kubevirt.VideoDevice](), "type"}:   {values: []string{"virtio", "vga", "bochs", "cirrus", "ramfb"}},
	}
}

// minimums are the least values of numbers.
func minimums() map[owned]int64 {
	return map[owned]int64{
		{reflect.TypeFor[RunStateSpec](), "run"}:                                   1,
		{reflect.TypeFor[GroupSpec](), "run"}:                                      1,
		{reflect.TypeFor[kubevirt.Probe](), "initialDelaySeconds"}:                 0,
		{reflect.TypeFor[kubevirt.Probe](), "timeoutSeconds"}:                      1,
		{reflect.TypeFor[kubevirt.Probe](), "periodSeconds"}:                       1,
		{reflect.TypeFor[kubevirt.Probe](), "successThreshold"}:                    1,
		{reflect.TypeFor[kubevirt.Probe](), "failureThreshold"}:                    1,
		{reflect.TypeFor[kubevirt.CPU](), "cores"}:                                 1,
		{reflect.TypeFor[kubevirt.CPU](), "sockets"}:                               1,
		{reflect.TypeFor[kubevirt.CPU](), "threads"}:                               1,
		{reflect.TypeFor[kubevirt.CPU](), "maxSockets"}:                            1,
		{reflect.TypeFor[Interface](), "acpiIndex"}:                                1,
		{reflect.TypeFor[kubevirt.DiskIOThreads](), "supplementalPoolThreadCount"}: 1,
		{reflect.TypeFor[kubevirt.Disk](), "bootOrder"}:                            1,
		{reflect.TypeFor[Interface](), "bootOrder"}:                                1,
		{reflect.TypeFor[kubevirt.FeatureSpinlocks](), "spinlocks"}:                4095, // libvirt's least value of retries
		{reflect.TypeFor[InstanceSpec](), "terminationGracePeriodSeconds"}:         0,
		{reflect.TypeFor[NetworkBridge](), "delaySeconds"}:                         0,
	}
}

// refusals are fields that people have reason to write and that our types do not have, with what to do.
func refusals() map[owned]string {
	const (
		notYet    = "is not supported yet"
		inCluster = "is something that only a Kubernetes cluster has; use volume, hostDisk or emptyDisk"
		status    = "is written by agents and never read from a repository; take it out"
		owners    = "are written by agents onto the instances that they make; take them out"
	)
	meta, volume := reflect.TypeFor[Meta](), reflect.TypeFor[Volume]()
	return map[owned]string{
		{meta, "ownerReferences"}:                  owners,
		{meta, "namespace"}:                        "is something that only a Kubernetes cluster has; take it out",
		{reflect.TypeFor[Config](), "status"}:      status,
		{reflect.TypeFor[RunState](), "status"}:    status,
		{reflect.TypeFor[Preset](), "status"}:      status,
		{reflect.TypeFor[Group](), "status"}:       status,
		{reflect.TypeFor[Host](), "status"}:        status,
		{reflect.TypeFor[Flavour](), "status"}:     status,
		{reflect.TypeFor[HostNetwork](), "status"}: status,
		{reflect.TypeFor[StoragePool](), "status"}: status,
		{reflect.TypeFor[Image](), "url"}:          notYet + "; fetch the image to the host and say its path",
		{reflect.TypeFor[Image](), "sha256"}:       notYet,
		{volume, "network"}:                        notYet + "; say the disk in domainXML",
		{volume, "iso"}:                            notYet + "; use hostDisk",
		{volume, "ignition"}:                       notYet,
		{volume, "sysprep"}:                        notYet + "; put the answer file on a disk of its own, and use hostDisk",
		{volume, "configMap"}:                      inCluster,
		{volume, "downwardAPI"}:                    inCluster,
		{volume, "downwardMetrics"}:                inCluster,
		{volume, "memoryDump"}:                     inCluster,
		{volume, "secret"}:                         inCluster,
		{volume, "serviceAccount"}:                 inCluster,
	}
}

// ignoredFields are fields beside a template that are read and have no effect, with why.
func ignoredFields() map[owned]string {
	const (
		cluster = "has no effect: it is something that only a Kubernetes cluster has"
		names   = "has no effect: names are those of the repository, without namespaces"
		written = "has no effect: it is written by a cluster"
	)
	meta := reflect.TypeFor[foreignMeta]()
	out := map[owned]string{
		{meta, "namespace"}:    names,
		{meta, "generateName"}: "has no effect: say a name",
		{reflect.TypeFor[virtualMachineSpec](), "updateVolumesStrategy"}: "has no effect: volumes that a machine has are kept",
	}
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink", "ownerReferences", "finalizers"} {
		out[owned{meta, field}] = written
	}
	for _, t := range []reflect.Type{reflect.TypeFor[virtualMachine](), reflect.TypeFor[virtualMachineInstance](),
		reflect.TypeFor[replicaSet](), reflect.TypeFor[pool](), reflect.TypeFor[persistentVolumeClaim](), reflect.TypeFor[dataVolume](),
		reflect.TypeFor[dataVolumeTemplate](), reflect.TypeFor[libvirtMachine]()} {
		out[owned{t, "status"}] = written
	}
	for _, field := range []string{"nodeSelector", "schedulerName"} {
		out[owned{reflect.TypeFor[instancetype.VirtualMachineInstancetypeSpec](), field}] = cluster
	}
	out[owned{reflect.TypeFor[instancetype.MemoryInstancetype](), "overcommitPercent"}] = cluster
	out[owned{reflect.TypeFor[PreferenceSpec](), "preferredSubdomain"}] = cluster
	out[owned{reflect.TypeFor[PreferenceSpec](), "volumes"}] = cluster
	out[owned{reflect.TypeFor[PreferredDevices](), "preferredVirtualGPUOptions"}] = "has no effect: a mediated device is given as the Host says it"
	for _, t := range []reflect.Type{reflect.TypeFor[replicaSetSpec](), reflect.TypeFor[poolSpec]()} {
		out[owned{t, "selector"}] = "has no effect: members are known by their names"
		out[owned{t, "paused"}] = cluster
	}
	for _, field := range []string{"accessModes", "volumeMode", "volumeName", "selector", "volumeAttributesClassName"} {
		out[owned{reflect.TypeFor[ClaimSpec](), field}] = cluster
	}
	for _, field := range []string{"contentType", "preallocation", "priorityClassName", "checkpoints", "finalCheckpoint"} {
		out[owned{reflect.TypeFor[DataVolumeSpec](), field}] = cluster
	}
	const pull = "has no effect: an image is fetched once, with what the docker configuration of the agent's user has for its registry"
	out[owned{reflect.TypeFor[ContainerDisk](), "imagePullPolicy"}] = pull
	out[owned{reflect.TypeFor[ContainerDisk](), "imagePullSecret"}] = pull
	const ranges = "has no effect: the guest's addresses are given by the network that the Host says"
	out[owned{reflect.TypeFor[PodNetwork](), "vmNetworkCIDR"}] = ranges
	out[owned{reflect.TypeFor[PodNetwork](), "vmIPv6NetworkCIDR"}] = ranges
	out[owned{reflect.TypeFor[MultusNetwork](), "default"}] = cluster
	out[owned{reflect.TypeFor[HostDisk](), "shared"}] = "has no effect: say shareable in the disk"
	const plugged = "has no effect: volumes are not taken from a running machine"
	out[owned{reflect.TypeFor[PersistentVolumeClaim](), "hotpluggable"}] = plugged
	out[owned{reflect.TypeFor[DataVolume](), "hotpluggable"}] = plugged
	out[owned{reflect.TypeFor[PersistentVolumeClaim](), "readOnly"}] = "has no effect: say readonly in the disk"
	for _, field := range []string{"nameGeneration", "scaleInStrategy", "updateStrategy", "autohealing"} {
		out[owned{reflect.TypeFor[poolSpec](), field}] = cluster
	}
	return out
}
