// Package source turns a branch of a git repository into revisions: complete, whole trees of files at one commit.
package source
