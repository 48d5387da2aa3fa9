// Package probe finds out whether guests are up, each at its own pace: by a connection, a request, or the guest's agent.
package probe
