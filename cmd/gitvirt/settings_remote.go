package main

import (
	"errors"
	"fmt"

	"github.com/gitvirt/gitvirt/source"
)

// auth is how the remote is spoken to; only the file has it. The files that it names are read at each use.
type auth struct {
	SSHKeyFile           string `yaml:"sshKeyFile"`
	SSHKeyPassphraseFile string `yaml:"sshKeyPassphraseFile"`
	SSHKnownHostsFile    string `yaml:"sshKnownHostsFile"`
	TokenFile            string `yaml:"tokenFile"`
	CAFile               string `yaml:"caFile"`
	Proxy                string `yaml:"proxy"`
	ProxyAuthFile        string `yaml:"proxyAuthFile"`
}

func (a auth) source() source.Auth {
	return source.Auth{
		SSHKeyFile: a.SSHKeyFile, SSHKeyPassphraseFile: a.SSHKeyPassphraseFile, SSHKnownHostsFile: a.SSHKnownHostsFile,
		TokenFile: a.TokenFile, CAFile: a.CAFile, Proxy: a.Proxy, ProxyAuthFile: a.ProxyAuthFile,
	}
}

// forcedPush is what becomes of a branch whose history was rewritten.
type forcedPush string

func (f forcedPush) validate() error {
	switch source.ForcedPush(f) {
	case "", source.Follow, source.Hold:
		return nil
	}
	return fmt.Errorf("forcedPush %q: say %s or %s", string(f), source.Follow, source.Hold)
}

// notInView refuses a repository on the command line whose URL has a password: everybody on the machine can see it there.
func notInView(repo string) error {
	if source.HasPassword(repo) {
		return errors.New("the repository on the command line has a password in its URL, which everybody on this machine can see: write it to a file, and name that in auth.tokenFile of the configuration file")
	}
	return nil
}
