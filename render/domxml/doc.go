// Package domxml holds a libvirt domain's XML as a tree: it merges one over another, compares what one declares with
// what another has, and keeps devices where they are.
package domxml
