// Package vault opens the secrets that documents refer to, with the host's keys and from the host's own files, and keeps
// their values for those who hand them to libvirt.
package vault
