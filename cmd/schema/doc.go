// Command schema writes the JSON Schemas and the reference pages of the documents, below deploy. It is for those who
// change the documents' types; the files are kept with the source.
package main

//go:generate go run . ../..
