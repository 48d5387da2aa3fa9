// Package resource renders the networks and storage pools that a host should have to libvirt's XML, and compares them with
// what libvirt has.
package resource
