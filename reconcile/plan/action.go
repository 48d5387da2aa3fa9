package plan

import (
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/metadata"
	"github.com/gitvirt/gitvirt/render/resource"
)

// Effect is what an action does to the machine, in the user's words.
type Effect string

// The effects, in the order in which a plan sorts them within an instance.
const (
	EffectBlocked   Effect = "blocked"
	EffectRemove    Effect = "remove"
	EffectStop      Effect = "stop"
	EffectCreate    Effect = "create"
	EffectNextStart Effect = "next-start"
	EffectLive      Effect = "live"
	EffectRestart   Effect = "restart"
	EffectStart     Effect = "start"
)

// Action is one thing to do to one instance, why, and the steps that do it. A blocked action has no steps.
type Action struct {
	Instance string `json:"instance"`
	Effect   Effect `json:"effect"`
	// Reason is a code in CamelCase, Message a sentence for people.
	Reason  string   `json:"reason"`
	Message string   `json:"message"`
	Changes []Change `json:"changes,omitempty"`
	Steps   []Step   `json:"-"`
	// Try names a change of a running machine that libvirt or the guest may refuse, and only it: what becomes of it is
	// Memory's Tries. Other actions go on.
	Try string `json:"-"`
}

// Change is one field that differs.
type Change struct {
	Path string `json:"path"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Op is what a step does.
type Op string

// The ops. Each is safe to do again.
const (
	OpVolumes       Op = "volumes"        // make Volumes that are not there (Fresh ones anew), crash-safely; grow those that are smaller
	OpDeleteVolumes Op = "delete-volumes" // delete Volumes
	OpDefine        Op = "define"         // define XML, in place, validating
	OpMetadata      Op = "metadata"       // set Metadata of the inactive (Config) and the live (Live) XML
	OpAutostart     Op = "autostart"      // set autostart to On
	OpStart         Op = "start"          // start; paused when Paused
	OpShutdown      Op = "shutdown"       // ask the guest to shut down; do not wait
	OpDestroy       Op = "destroy"        // pull the plug
	OpSuspend       Op = "suspend"        // pause the vCPUs
	OpResume        Op = "resume"         // run the vCPUs
	OpUndefine      Op = "undefine"       // remove an inactive domain's definition; its disks and NVRAM stay
	OpSecrets       Op = "secrets"        // have libvirt keep Secrets, with the values that their tokens stand for
	OpDeleteSecrets Op = "delete-secrets" // have libvirt forget Secrets, by their UUIDs

	// What is below changes a running domain, and not its inactive XML. That it was done shows in the live XML.
	OpAttach   Op = "attach"   // plug in the device XML
	OpDetach   Op = "detach"   // ask the guest to give up the device XML; do not wait
	OpUpdate   Op = "update"   // make the device that XML names what XML says
	OpTune     Op = "tune"     // set the IO limits of the disk Device to Tune; what is not named has none
	OpResize   Op = "resize"   // grow the disk Device to Amount bytes
	OpMemory   Op = "memory"   // set the guest's memory to Amount KiB, by the balloon
	OpVCPUs    Op = "vcpus"    // set the number of vCPUs to Amount
	OpDescribe Op = "describe" // set the title to Title and the description to Description; empty removes one

	// What is below is about a network or a storage pool: Domain is its name, Kind what it is.
	OpResourceDefine    Op = "resource-define"    // define XML, in place, validating; have libvirt keep Secret before
	OpPoolBuild         Op = "pool-build"         // make the folder
	OpResourceAutostart Op = "resource-autostart" // set autostart to On
	OpResourceStart     Op = "resource-start"
	OpResourceStop      Op = "resource-stop"
	OpResourceUndefine  Op = "resource-undefine"
	OpNetworkUpdate     Op = "network-update" // Command XML in Section of the active network, in its <ip> number Index
	OpReplug            Op = "replug"         // connect the interface XML of the running Guest to its network again
)

// Param is one IO limit, by the name of libvirt's element in <iotune>.
type Param struct {
	Name  string
	Value uint64
	Text  string // of group_name, instead of Value
}

// Step is one call, or a few that belong together, at one domain. Steps of an instance run in order, and stop at the
// first that fails.
type Step struct {
	Op       Op
	Domain   string // the domain's name
	UUID     string
	XML      string             // OpDefine; of one device: OpAttach, OpDetach, OpUpdate
	Volumes  []render.Volume    // OpVolumes, OpDeleteVolumes
	Fresh    bool               // OpVolumes: VolumeEmpty ones are made anew, because a run begins; else only what they Fetch is brought
	Metadata *metadata.Metadata // OpMetadata
	Config   bool               // OpMetadata
	Live     bool               // OpMetadata
	On       bool               // OpAutostart
	Paused   bool               // OpStart
	Plug     bool               // OpVolumes: all are for a running domain; what is there stays as it is
	Device   string             // OpTune, OpResize: a disk's target name, vda
	Amount   uint64             // OpResize: bytes; OpMemory: KiB; OpVCPUs
	Tune     []Param            // OpTune
	Secrets  []render.Secret    // OpSecrets, OpDeleteSecrets

	Title, Description string // OpDescribe

	Kind             resource.Kind    // of the ops of networks and pools
	Secret           *resource.Secret // OpResourceDefine: nil for none
	Section          Section          // OpNetworkUpdate
	Command          string           // OpNetworkUpdate
	Index            int              // OpNetworkUpdate: -1 where it is in no address
	Guest, GuestUUID string           // OpReplug
}

// Plan is what to do, sorted by instance.
type Plan struct {
	Host     string   `json:"host"`
	Revision string   `json:"revision"`
	Actions  []Action `json:"actions"`
	// Resources are what to do to networks and storage pools, sorted by kind and name.
	Resources []ResourceAction `json:"resources,omitempty"`
}

// Empty says that there is nothing to do.
func (p Plan) Empty() bool { return len(p.Actions)+len(p.Resources) == 0 }
