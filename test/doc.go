// Package test holds the tests of the whole program, on real git servers, libvirtd and QEMU, and its architecture.
package test
