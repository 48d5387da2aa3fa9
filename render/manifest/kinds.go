package manifest

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	instancetype "kubevirt.io/api/instancetype/v1beta1"
)

// The groups of apiVersion.
const (
	groupOurs         = "gitvirt.io"
	groupKubeVirt     = "kubevirt.io"
	groupPool         = "pool.kubevirt.io"
	groupInstancetype = "instancetype.kubevirt.io"
	groupImporter     = "cdi.kubevirt.io"
	groupCore         = "" // Kubernetes' own
)

// The kinds that are not ours.
const (
	KindVirtualMachine      = "VirtualMachine"
	KindReplicaSet          = "VirtualMachineInstanceReplicaSet"
	KindPool                = "VirtualMachinePool"
	KindKubeVirtPreset      = "VirtualMachineInstancePreset"
	KindInstancetype        = "VirtualMachineInstancetype"
	KindClusterInstancetype = "VirtualMachineClusterInstancetype"
	KindPreference          = "VirtualMachinePreference"
	KindClusterPreference   = "VirtualMachineClusterPreference"
	KindClaim               = "PersistentVolumeClaim"
	KindDataVolume          = "DataVolume"
)

// kind is how documents of one kind are read.
type kind struct {
	group    string
	versions []string
	name     string
	typ      reflect.Type
	// makes are the kinds that the set holds it as.
	makes []string
	// dotted says that its name may be a DNS subdomain; others are DNS labels.
	dotted bool
	schema *schema
}

// kinds are all that are read.
func kinds() []kind {
	ours, core := []string{"v1alpha1"}, []string{"v1", "v1alpha3"}
	return []kind{
		{group: groupOurs, versions: ours, name: KindConfig, typ: reflect.TypeFor[Config](), makes: []string{KindConfig}},
		{group: groupOurs, versions: ours, name: KindRunState, typ: reflect.TypeFor[RunState](), makes: []string{KindRunState}},
		{group: groupOurs, versions: ours, name: KindFlavour, typ: reflect.TypeFor[Flavour](), makes: []string{KindFlavour}},
		{group: groupOurs, versions: ours, name: KindPreset, typ: reflect.TypeFor[Preset](), makes: []string{KindPreset}},
		{group: groupOurs, versions: ours, name: KindGroup, typ: reflect.TypeFor[Group](), makes: []string{KindGroup}},
		{group: groupOurs, versions: ours, name: KindHost, typ: reflect.TypeFor[Host](), makes: []string{KindHost}, dotted: true},
		{group: groupOurs, versions: ours, name: KindNetwork, typ: reflect.TypeFor[HostNetwork](), makes: []string{KindNetwork}},
		{group: groupOurs, versions: ours, name: KindStorage, typ: reflect.TypeFor[StoragePool](), makes: []string{KindStorage}},

		{group: groupKubeVirt, versions: core, name: KindVirtualMachine, typ: reflect.TypeFor[virtualMachine](),
			makes: []string{KindConfig, KindRunState}},
		{group: groupKubeVirt, versions: core, name: KindInstance, typ: reflect.TypeFor[virtualMachineInstance](),
			makes: []string{KindConfig, KindRunState}},
		{group: groupKubeVirt, versions: core, name: KindReplicaSet, typ: reflect.TypeFor[replicaSet](),
			makes: []string{KindConfig, KindGroup}},
		{group: groupKubeVirt, versions: core, name: KindKubeVirtPreset, typ: reflect.TypeFor[kubevirtPreset](),
			makes: []string{KindPreset}},
		{group: groupPool, versions: []string{"v1alpha1", "v1beta1"}, name: KindPool, typ: reflect.TypeFor[pool](),
			makes: []string{KindConfig, KindGroup}},
		{group: groupInstancetype, versions: instancetypeVersions(), name: KindInstancetype, typ: reflect.TypeFor[Instancetype](),
			makes: []string{KindInstancetype}, dotted: true},
		{group: groupInstancetype, versions: instancetypeVersions(), name: KindClusterInstancetype, typ: reflect.TypeFor[Instancetype](),
			makes: []string{KindClusterInstancetype}, dotted: true},
		{group: groupInstancetype, versions: instancetypeVersions(), name: KindPreference, typ: reflect.TypeFor[Preference](),
			makes: []string{KindPreference}, dotted: true},
		{group: groupInstancetype, versions: instancetypeVersions(), name: KindClusterPreference, typ: reflect.TypeFor[Preference](),
			makes: []string{KindClusterPreference}, dotted: true},
		// Of a cluster's storage, what a machine's claims name.
		{group: groupCore, versions: []string{"v1"}, name: KindClaim, typ: reflect.TypeFor[persistentVolumeClaim](),
			makes: []string{KindClaim}, dotted: true},
		{group: groupImporter, versions: []string{"v1beta1", "v1alpha1"}, name: KindDataVolume, typ: reflect.TypeFor[dataVolume](),
			makes: []string{KindDataVolume}, dotted: true},
		// The form of 2017, libvirt's structure in YAML. It has no version of its own that is told apart otherwise.
		{group: groupKubeVirt, versions: []string{"v1alpha1"}, name: KindVirtualMachine, typ: reflect.TypeFor[libvirtMachine](),
			makes: []string{KindConfig, KindRunState}},
	}
}

func instancetypeVersions() []string { return []string{"v1beta1", "v1alpha2", "v1alpha1"} }

// Instancetype is KubeVirt's: what it says, a machine that names it must not contradict.
type Instancetype struct {
	foreignHeader
	Spec instancetype.VirtualMachineInstancetypeSpec `json:"spec"`
}

// Preference is KubeVirt's: what a machine that names it leaves unsaid.
type Preference struct {
	foreignHeader
	Spec PreferenceSpec `json:"spec"`
}

// PreferenceSpec is KubeVirt's, with fields that came after the version whose types are used.
type PreferenceSpec struct {
	instancetype.VirtualMachinePreferenceSpec `json:",inline"`

	PreferredArchitecture string                  `json:"preferredArchitecture,omitempty"`
	Devices               *PreferredDevices       `json:"devices,omitempty"`
	Requirements          *PreferenceRequirements `json:"requirements,omitempty"`
}

// PreferredDevices are KubeVirt's.
type PreferredDevices struct {
	instancetype.DevicePreferences `json:",inline"`

	PreferredVideoType string `json:"preferredVideoType,omitempty"`
}

// PreferenceRequirements are KubeVirt's.
type PreferenceRequirements struct {
	instancetype.PreferenceRequirements `json:",inline"`

	Architecture string `json:"architecture,omitempty"`
}

// speaks says whether an apiVersion is one of the kind's.
func (k *kind) speaks(api string) bool {
	group, version, ok := strings.Cut(api, "/")
	if !ok {
		group, version = groupCore, api
	}
	return group == k.group && slices.Contains(k.versions, version)
}

// named says whether a document of the kind can have that name.
func (k *kind) named(name string) bool {
	if k.dotted {
		return len(validation.IsDNS1123Subdomain(name)) == 0
	}
	return len(validation.IsDNS1123Label(name)) == 0
}

// Ours says whether a kind is one of gitvirt's own.
func Ours(kind string) bool { return slices.Contains(ownKinds(), kind) }

// ownKinds are the names of those that are ours.
func ownKinds() []string {
	var names []string
	for _, k := range kinds() {
		if k.group == groupOurs {
			names = append(names, k.name)
		}
	}
	return names
}
