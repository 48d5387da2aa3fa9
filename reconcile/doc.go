// Package reconcile is the agent's loop: it takes revisions from source, plans with plan, acts through a runner, and
// keeps the status.
package reconcile
