// Package secret has the forms of secrets: the value that shows itself nowhere, the token that stands for it, the envelope
// that it is encrypted in, and what is found in it once that is open.
package secret
