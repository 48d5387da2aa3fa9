package status

import (
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// The conditions of an instance.
const (
	Ready           = "Ready"           // it is in the state that its run state asks for
	Synced          = "Synced"          // its definition is what its config says
	RestartRequired = "RestartRequired" // some of it waits for the next start
	Blocked         = "Blocked"         // something cannot be done, and why
)

// Instance is a VirtualMachineInstance as an agent reports it.
type Instance struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   Metadata       `json:"metadata"`
	Spec       any            `json:"spec,omitempty"`
	Status     InstanceStatus `json:"status"`

	rendered *render.Instance
}

// Metadata is an instance's.
type Metadata struct {
	Name            string            `json:"name"`
	UID             string            `json:"uid,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	OwnerReferences []Owner           `json:"ownerReferences,omitempty"`
}

// Owner is the config that an instance was made from.
type Owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

// InstanceStatus is what is the case.
type InstanceStatus struct {
	Phase   plan.Phase `json:"phase"`
	Desired string     `json:"desired,omitempty"`
	Host    string     `json:"host"`
	Domain  *Domain    `json:"domain,omitempty"`
	// Revision are commits: of the revision in force, of the inactive XML, and of the live XML.
	Revision   Revisions     `json:"revision"`
	Staged     []plan.Staged `json:"staged,omitempty"`
	Conditions []Condition   `json:"conditions"`
	Devices    Devices       `json:"devices"`
	Restarts   int           `json:"restarts,omitempty"`
	Failure    *Failed       `json:"failure,omitempty"`
}

// Domain is libvirt's.
type Domain struct {
	Name string `json:"name"`
	UUID string `json:"uuid"`
	ID   int32  `json:"id,omitempty"`
}

// Revisions are an instance's commits.
type Revisions struct {
	Desired   string `json:"desired,omitempty"`
	NextStart string `json:"nextStart,omitempty"`
	Running   string `json:"running,omitempty"`
}

// Condition is one of an instance's, in Kubernetes' form.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	Reason             string    `json:"reason,omitempty"`
	Message            string    `json:"message,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// Failed is the last error at an instance.
type Failed struct {
	Message  string    `json:"message"`
	Time     time.Time `json:"time"`
	Attempts int       `json:"attempts"`
	NextTry  time.Time `json:"nextTry"`
}

// Devices are an instance's named devices, with the places that libvirt gave them.
type Devices struct {
	Disks      []Disk      `json:"disks,omitempty"`
	Interfaces []Interface `json:"interfaces,omitempty"`
}

// Disk is a disk or a CD drive.
type Disk struct {
	Name    string `json:"name"`
	Target  string `json:"target,omitempty"`
	Address string `json:"address,omitempty"`
}

// Interface is a network interface.
type Interface struct {
	Name    string `json:"name"`
	MAC     string `json:"mac,omitempty"`
	Address string `json:"address,omitempty"`
}

// Config is a config and what runs of it, on whatever host.
type Config struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Metadata   manifest.Meta `json:"metadata"`
	File       string        `json:"file"`
	// RunStates are those that name the config; none when it runs nowhere.
	RunStates []RunState `json:"runStates"`
}

// RunState is a run state in few words.
type RunState struct {
	Name  string `json:"name"`
	Host  string `json:"host"`
	State string `json:"state"`
	Run   int64  `json:"run"`
	// Phase is of an instance on this host.
	Phase plan.Phase `json:"phase,omitempty"`
}

// Event is something that changed.
type Event struct {
	Time     time.Time `json:"time"`
	Instance string    `json:"instance"`
	Reason   string    `json:"reason"`
	Message  string    `json:"message"`
}

// Rendered is an instance that nobody has started: what `gitvirt render` shows.
func Rendered(i *render.Instance) Instance {
	out := Instance{APIVersion: manifest.APIVersion, Kind: manifest.KindInstance, rendered: i}
	out.Metadata = metadataOf(i)
	if i.Revision != "" {
		out.Metadata.Annotations["gitvirt.io/revision"] = i.Revision
	}
	out.Spec = i.Public()
	out.Status = InstanceStatus{Phase: plan.PhasePending, Desired: string(i.State), Host: i.Host, Revision: Revisions{Desired: i.Revision}, Conditions: []Condition{}}
	return out
}

func metadataOf(i *render.Instance) Metadata {
	m := Metadata{Name: i.Name, Labels: i.Labels, Annotations: map[string]string{}}
	for k, v := range i.Annotations {
		m.Annotations[k] = v
	}
	m.OwnerReferences = owner(i.Config)
	return m
}

func owner(config string) []Owner {
	return []Owner{{APIVersion: manifest.APIVersion, Kind: manifest.KindConfig, Name: config, Controller: true}}
}
