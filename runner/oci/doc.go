// Package oci brings single files out of OCI images in registries: disks (KubeVirt's containerDisk) and kernels. A file is
// at its place whole or not at all, is pinned by the image's digest, and once there is not fetched again.
package oci
