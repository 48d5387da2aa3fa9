// Package runner observes libvirt and applies a plan's steps to it; what to do is decided elsewhere.
package runner
