package manifest

// ISO is the image of a CD or DVD, which is read and never written; exactly one of Path, Name and Image is set.
type ISO struct {
	// Path is a file of the host, absolute and in its shortest form.
	Path string `json:"path,omitempty"`
	// Name is that of a volume which is there in a storage pool.
	Name string `json:"name,omitempty"`
	// Pool is the pool of Name; "default" when it is left out.
	Pool string `json:"pool,omitempty"`
	// Image is fetched to the host, once.
	Image *Image `json:"image,omitempty"`
}

// NetworkDisk is a disk on a server, which QEMU connects to by itself.
type NetworkDisk struct {
	// Protocol is iscsi, nbd, rbd, nfs, http or https.
	Protocol string `json:"protocol"`
	// Hosts are the servers: the monitors for rbd, and one for all others.
	Hosts []NetworkHost `json:"hosts"`
	// Name is what the server calls it: TARGET or TARGET/LUN for iscsi, the export for nbd (its default one when it is left
	// out), POOL/IMAGE for rbd, the file's path for nfs, http and https.
	Name string `json:"name,omitempty"`
	// Format is raw (the default) or qcow2.
	Format string `json:"format,omitempty"`
	// ReadOnly keeps the guest from writing to it. What comes by http and https is always so.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Auth is the user that iscsi (CHAP) and rbd (cephx) ask for.
	Auth *NetworkAuth `json:"auth,omitempty"`
	// TLS encrypts nbd, with the certificates that QEMU's own configuration on the host names.
	TLS bool `json:"tls,omitempty"`
	// Initiator is the iSCSI name (IQN) that the host goes by at the target.
	Initiator string `json:"initiator,omitempty"`
	// Query is what follows the "?" of an http or https address.
	Query string `json:"query,omitempty"`
	// Snapshot is one of an rbd image.
	Snapshot string `json:"snapshot,omitempty"`
	// Identity is whom an nfs server takes the host for. Of nfs it has to be said.
	Identity *NetworkIdentity `json:"identity,omitempty"`
}

// NetworkHost is a server; exactly one of Name and Socket is set.
type NetworkHost struct {
	// Name is its name or IP address.
	Name string `json:"name,omitempty"`
	// Port is the protocol's usual one when it is left out.
	Port int32 `json:"port,omitempty"`
	// Socket is the path of a UNIX socket of the host that the machine runs on, for nbd.
	Socket string `json:"socket,omitempty"`
}

// NetworkAuth is a user and its password or key.
type NetworkAuth struct {
	// Username is the CHAP user, or Ceph's without "client.".
	Username string `json:"username"`
	// SecretRef says where the password is, or Ceph's key as "ceph auth get-key" prints it.
	SecretRef *SecretRef `json:"secretRef"`
}

// NetworkIdentity is a user and a group, by name or number.
type NetworkIdentity struct {
	// User is a name or a number.
	User string `json:"user,omitempty"`
	// Group is a name or a number.
	Group string `json:"group,omitempty"`
}

// CloudInit is a cloud-init seed. Its content is secret: it appears in no instance, plan, diff or log. Each of its three parts
// is said in one way: as it is, in Base64, as a file of the repository relative to the document's folder, or as a secret. In
// all but a secret, placeholders stand for what differs between machines of one config.
type CloudInit struct {
	// UserData is cloud-init's user data, such as a #cloud-config.
	UserData string `json:"userData,omitempty"`
	// UserDataBase64 is the user data in Base64.
	UserDataBase64 string `json:"userDataBase64,omitempty"`
	// UserDataFrom names a file that holds the user data.
	UserDataFrom string `json:"userDataFrom,omitempty"`
	// UserDataSecretRef says where the user data is, by KubeVirt's name of the field.
	UserDataSecretRef *SecretRef `json:"secretRef,omitempty"`
	// NetworkData is cloud-init's network configuration.
	NetworkData string `json:"networkData,omitempty"`
	// NetworkDataBase64 is the network configuration in Base64.
	NetworkDataBase64 string `json:"networkDataBase64,omitempty"`
	// NetworkDataFrom names a file that holds the network configuration.
	NetworkDataFrom string `json:"networkDataFrom,omitempty"`
	// NetworkDataSecretRef says where the network configuration is.
	NetworkDataSecretRef *SecretRef `json:"networkDataSecretRef,omitempty"`
	// MetaData is a mapping in YAML or JSON, which is laid over gitvirt's own words: instance-id and local-hostname.
	MetaData string `json:"metaData,omitempty"`
	// MetaDataBase64 is the mapping in Base64.
	MetaDataBase64 string `json:"metaDataBase64,omitempty"`
	// MetaDataFrom names a file that holds the mapping.
	MetaDataFrom string `json:"metaDataFrom,omitempty"`
	// MetaDataSecretRef says where the mapping is.
	MetaDataSecretRef *SecretRef `json:"metaDataSecretRef,omitempty"`
}

// Ignition is a configuration for Ignition (Fedora CoreOS, Flatcar), which the guest reads from QEMU's firmware configuration
// device under opt/com.coreos/config. It is said in one way, and secret, as a cloud-init seed is.
type Ignition struct {
	// Config is the configuration, in JSON.
	Config string `json:"config,omitempty"`
	// ConfigBase64 is the configuration in Base64.
	ConfigBase64 string `json:"configBase64,omitempty"`
	// ConfigFrom names a file that holds the configuration, relative to the document's folder.
	ConfigFrom string `json:"configFrom,omitempty"`
	// SecretRef says where the configuration is.
	SecretRef *SecretRef `json:"secretRef,omitempty"`
}

// CloudInitPolicy says what a cloud-init seed means to a guest that has read it before.
type CloudInitPolicy string

// The policies of cloud-init.
const (
	// CloudInitOnce, the default: the instance-id is the machine's, so cloud-init sets the machine up once.
	CloudInitOnce CloudInitPolicy = "Once"
	// CloudInitEveryRun has another instance-id in each run, and once the seed was edited: cloud-init sets the machine up anew.
	CloudInitEveryRun CloudInitPolicy = "EveryRun"
)
