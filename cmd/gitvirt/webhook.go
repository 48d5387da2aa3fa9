package main

import (
	"time"

	hooks "github.com/gitvirt/gitvirt/reconcile/webhook"
	"github.com/gitvirt/gitvirt/reconcile/webhook/receiver"
)

// webhookSpacing is the least time between two fetches that webhooks ask for.
const webhookSpacing = 2 * time.Second

// newReceiver is what takes webhooks; nil when the file says nothing of them.
func (a *agent) newReceiver() *receiver.Receiver {
	file := a.set.Webhook.SecretFile
	if file == "" {
		return nil
	}
	return receiver.New(receiver.Options{
		Secrets: func() (hooks.Secrets, error) { return receiver.Secrets(file) },
		Follows: a.set.follows,
		Trigger: func() { a.loop.Trigger() }, Spacing: webhookSpacing, Logger: a.log, Registerer: a.registry,
	})
}

// follows says whether a push to a reference may bring a revision.
func (s settings) follows(ref string) bool {
	if tags := s.Ref.source(); tags.Pattern != "" {
		return tags.Match(ref)
	}
	return ref == "refs/heads/"+s.Branch
}
