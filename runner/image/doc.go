// Package image makes the disk image files that domains need, whole or not at all: a file is written under a temporary
// name beside its place, synced, and then renamed, so that nothing but a complete image ever has the final name.
package image
