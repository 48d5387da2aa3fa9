// Package fakevirt is a libvirt of make-believe, for tests that need speed and faults; the same tests run on the real one.
package fakevirt
