package main

import (
	"github.com/gitvirt/gitvirt/reconcile/webhook/receiver"
)

// webhook is what git hosts may post to the agent; only the file has it.
type webhook struct {
	SecretFile string `yaml:"secretFile"`
}

// validate reads the secrets once, so that a file that cannot be used is said when the agent begins. It is read again at
// each delivery.
func (w webhook) validate() error {
	if w.SecretFile == "" {
		return nil
	}
	_, err := receiver.Secrets(w.SecretFile)
	return err
}
