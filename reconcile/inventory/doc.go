// Package inventory knows which volumes a host stores and which of them are orphans, and deletes those that a person names.
package inventory
