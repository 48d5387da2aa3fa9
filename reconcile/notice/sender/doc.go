// Package sender tells git hosts and others what is worth telling: each in a goroutine of its own, again and again until
// they have heard it, and without anything that waits for it.
package sender
