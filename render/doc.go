// Package render completes documents to instances, and instances to libvirt domains; the same input gives the same
// bytes.
package render
