package manifest

// Claim is a volume that a cluster would make for a machine.
type Claim struct {
	Name  string
	Size  Quantity
	Class string
	// Image is the OCI image that it starts as; empty for a blank one.
	Image string
	// Cannot says why it cannot be made here; empty when it can.
	Cannot string
}

// ClaimSpec is what a PersistentVolumeClaim says, as far as it means something on a host.
type ClaimSpec struct {
	StorageClassName *string `json:"storageClassName,omitempty"`
	Resources        struct {
		Requests map[string]Quantity `json:"requests,omitempty"`
		Limits   map[string]Quantity `json:"limits,omitempty"`
	} `json:"resources,omitempty"`
	DataSource any `json:"dataSource,omitempty"`

	DataSourceRef any `json:"dataSourceRef,omitempty"`
}

// DataVolumeSpec is what a DataVolume of the containerized data importer says.
type DataVolumeSpec struct {
	PVC     *ClaimSpec `json:"pvc,omitempty"`
	Storage *ClaimSpec `json:"storage,omitempty"`
	// Source has one key, which says what kind it is of.
	Source map[string]any `json:"source,omitempty"`

	SourceRef any `json:"sourceRef,omitempty"`
}

// claim is what the spec asks for.
func (s *ClaimSpec) claim(name string) Claim {
	c := Claim{Name: name}
	if s == nil {
		c.Cannot = "it says neither pvc nor storage"
		return c
	}
	c.Size = s.Resources.Requests["storage"]
	if s.StorageClassName != nil {
		c.Class = *s.StorageClassName
	}
	if s.DataSource != nil || s.DataSourceRef != nil {
		c.Cannot = "it is copied from another volume of a cluster"
	}
	return c
}

// claim is what the spec asks for.
func (s *DataVolumeSpec) claim(name string) Claim {
	what := s.PVC
	if what == nil {
		what = s.Storage
	}
	c := what.claim(name)
	if s.SourceRef != nil {
		c.Cannot = "its sourceRef is a thing of a cluster"
	}
	for kind, value := range s.Source {
		of, _ := value.(map[string]any)
		switch kind {
		case "blank":
		case "registry":
			url, _ := of["url"].(string)
			const scheme = "docker://"
			if len(url) > len(scheme) && url[:len(scheme)] == scheme {
				c.Image = url[len(scheme):]
			} else {
				c.Cannot = "its source is no docker:// image of a registry"
			}
		default:
			c.Cannot = "its source is of the kind " + printable(kind) + ", which is not supported"
		}
	}
	return c
}
