// Package oci is the source of single files out of OCI images in registries: disks (KubeVirt's containerDisk) and kernels. A
// file is pinned by the image's digest.
package oci
