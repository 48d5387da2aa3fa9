// Package metadata is the record that gitvirt keeps in a domain's <metadata>: which config and commit the domain comes
// from, which run it is in, and what is needed to take it away again.
package metadata
