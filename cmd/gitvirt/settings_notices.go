package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/gitvirt/gitvirt/reconcile/notice/sender"
)

// notices is somebody who is told how revisions fare; only the file has it.
type notices struct {
	Provider   string `yaml:"provider"`
	URL        string `yaml:"url"`
	Repository string `yaml:"repository"`
	TokenFile  string `yaml:"tokenFile"`
	SecretFile string `yaml:"secretFile"`
	CAFile     string `yaml:"caFile"`
	TargetURL  string `yaml:"targetURL"`
}

func (n notices) target() sender.Target {
	return sender.Target{
		Provider: sender.Provider(n.Provider), URL: n.URL, Repository: n.Repository, TokenFile: n.TokenFile,
		SecretFile: n.SecretFile, CAFile: n.CAFile, TargetURL: n.TargetURL,
	}
}

// loadAgent is load for an agent that is to run: what only such a one uses is looked at, too.
func loadAgent(file string, flags *pflag.FlagSet) (settings, error) {
	s, err := load(file, flags)
	if err != nil {
		return s, err
	}
	errs := []error{s.Webhook.validate()}
	for n, one := range s.Notices {
		if err := one.target().Validate(); err != nil {
			errs = append(errs, fmt.Errorf("notices[%d]: %w", n, err))
		}
	}
	return s, errors.Join(errs...)
}
