// Package examples holds configuration repositories, for people to begin with and for the demo to run.
package examples

import "embed"

// Demo is the repository that the demo makes: the folder demo, with @WORDS@ for what is only known on the machine.
//
//go:embed demo
var Demo embed.FS
