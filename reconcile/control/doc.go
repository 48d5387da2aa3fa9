// Package control is the agent's socket for who is on its host: a Unix socket that one agent alone has, and what may be asked
// on it.
package control
