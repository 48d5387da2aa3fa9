package manifest

// StoragePool is a libvirt storage pool that hosts have.
type StoragePool struct {
	Header
	Spec StoragePoolSpec `json:"spec"`
}

// StoragePoolSpec is what a StoragePool says. It says all of the pool.
type StoragePoolSpec struct {
	HostScope `json:",inline"`
	Ownership `json:",inline"`

	// Type is dir (the default: a folder of the host), fs (a file system that is mounted), netfs (NFS, CIFS, Gluster), logical
	// (an LVM volume group), disk (partitions), iscsi, iscsi-direct, scsi (a host bus adapter), mpath, rbd, gluster or zfs.
	Type string `json:"type,omitempty"`
	// Path is the folder of the host where the volumes are found: what is mounted is mounted there. For devices it is
	// /dev/disk/by-path, or /dev and the group's name, when it is left out.
	Path string `json:"path,omitempty"`
	// Mode is that of a folder that is made, in octal; 0711 when it is left out.
	Mode string `json:"mode,omitempty"`
	// Owner is the number of the user who owns it.
	Owner *int64 `json:"owner,omitempty"`
	// Group is the number of the group that owns it.
	Group *int64 `json:"group,omitempty"`
	// Build has the folder of a dir, fs or netfs made when it is not there. It never formats anything: a file system, a volume group or a
	// partition table is made by hand.
	Build *bool `json:"build,omitempty"`
	// Source is what the pool is made of.
	Source *PoolSource `json:"source,omitempty"`
	// PoolXML is libvirt's own language, merged over the rendered pool.
	PoolXML string `json:"poolXML,omitempty"`
}

// PoolSource is what a pool is made of.
type PoolSource struct {
	// Hosts are the servers'; Ceph has several.
	Hosts []PoolHost `json:"hosts,omitempty"`
	// Devices are paths of the host's block devices; for iscsi the target's name.
	Devices []string `json:"devices,omitempty"`
	// Dir is the folder that the server exports.
	Dir string `json:"dir,omitempty"`
	// Name is that of the volume group, of Ceph's pool or of the Gluster volume.
	Name string `json:"name,omitempty"`
	// Format is of the file system or of the partition table, such as ext4, nfs, lvm2 or gpt.
	Format string `json:"format,omitempty"`
	// Initiator is the name that iscsi and iscsi-direct log in by.
	Initiator string `json:"initiator,omitempty"`
	// ProtocolVersion is of NFS.
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	// Auth is how the servers know us.
	Auth *PoolAuth `json:"auth,omitempty"`
}

// PoolHost is a server.
type PoolHost struct {
	// Name is its name or address.
	Name string `json:"name"`
	// Port is its; the protocol's usual one when it is left out.
	Port uint16 `json:"port,omitempty"`
}

// PoolAuth is how servers know us. One of SecretRef, Usage and UUID is said.
type PoolAuth struct {
	// Type is chap (iscsi) or ceph; what the pool's type has when it is left out.
	Type string `json:"type,omitempty"`
	// Username is that of the account.
	Username string `json:"username"`
	// SecretRef says where the password is. libvirt keeps it.
	SecretRef *SecretRef `json:"secretRef,omitempty"`
	// Usage names a secret that the host's libvirt has already.
	Usage string `json:"usage,omitempty"`
	// UUID is that of such a secret.
	UUID string `json:"uuid,omitempty"`
}

// LibvirtName is what libvirt knows the pool by.
func (p *StoragePool) LibvirtName() string { return p.Spec.named(p.Metadata.Name) }

// PoolType is the pool's type.
func (p *StoragePool) PoolType() string {
	if p.Spec.Type == "" {
		return "dir"
	}
	return p.Spec.Type
}

// Builds says whether the pool's folder is made when it is not there.
func (p *StoragePool) Builds() bool {
	if p.Spec.Build != nil {
		return *p.Spec.Build
	}
	switch p.PoolType() {
	case "dir", "fs", "netfs":
		return true
	}
	return false
}
