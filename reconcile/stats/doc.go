// Package stats gathers what domains use, beside the passes, and shows it by the names of the common libvirt exporter.
package stats
