// Package receiver answers webhooks, and turns any number of them into few fetches.
package receiver
