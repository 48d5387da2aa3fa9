// Package schema explains the documents to editors, to other programs and to people: it makes JSON Schemas and reference
// pages of the forms that the reader goes by, and of the types' documentation.
package schema
