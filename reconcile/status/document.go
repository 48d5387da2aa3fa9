package status

import (
	"maps"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// The annotations of an instance: of the run that goes on, or was the last.
const (
	revisionNote = "gitvirt.io/revision" // the commit that it was started from
	flavourNote  = "gitvirt.io/flavour"
	runNote      = "gitvirt.io/run"
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
	// IPAddresses are what the guest has of the networks' addresses, IPv4 first; InfoSource says who knows them: the guest's
	// agent, a libvirt network's lease, or the host's ARP table.
	IPAddresses []string           `json:"ipAddresses,omitempty"`
	InfoSource  plan.AddressSource `json:"infoSource,omitempty"`
}

// Rendered is an instance that nobody has started: what `gitvirt render` shows.
func Rendered(i *render.Instance) Instance {
	out := Instance{APIVersion: manifest.APIVersion, Kind: manifest.KindInstance, rendered: i}
	out.Metadata = metadataOf(i)
	if i.Revision != "" {
		out.Metadata.Annotations[revisionNote] = i.Revision
	}
	out.Spec = i.Public()
	out.Status = InstanceStatus{Phase: plan.PhasePending, Desired: string(i.State), Host: i.Host, Revision: Revisions{Desired: i.Revision}, Conditions: []Condition{}}
	return out
}

func metadataOf(i *render.Instance) Metadata {
	m := Metadata{Name: i.Name, Labels: i.Labels, Annotations: map[string]string{}, OwnerReferences: owner(i.Config)}
	maps.Copy(m.Annotations, i.Annotations)
	return m
}

func owner(config string) []Owner {
	return []Owner{{APIVersion: manifest.APIVersion, Kind: manifest.KindConfig, Name: config, Controller: true}}
}
