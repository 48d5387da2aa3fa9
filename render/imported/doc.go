// Package imported writes documents of domains that are there already: in the template's words what those can say, and the
// rest in libvirt's own.
package imported
