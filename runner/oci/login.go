package oci

import (
	"bytes"
	"errors"
	"strings"

	"github.com/docker/cli/cli/config/configfile"
	"github.com/google/go-containerregistry/pkg/authn"
)

// Login is what a registry is asked with: a docker configuration, as docker login writes it and Kubernetes keeps it in a Secret,
// or USER:PASSWORD. Nothing is what the docker configuration of this user says. What cannot be read is an error when the
// registry is asked; it does not repeat what it was given.
func Login(text string) authn.Keychain {
	if text == "" {
		return nil
	}
	return login(text)
}

type login string

// errLogin says what a login has to be.
var errLogin = errors.New("the secret for the registry is neither a docker configuration (config.json) nor USER:PASSWORD in one line")

// Resolve is authn.Keychain's.
func (l login) Resolve(at authn.Resource) (authn.Authenticator, error) {
	text := strings.TrimSpace(string(l))
	if !strings.HasPrefix(text, "{") {
		user, password, ok := strings.Cut(text, ":")
		if !ok || user == "" || strings.ContainsAny(text, "\r\n") {
			return nil, errLogin
		}
		return authn.FromConfig(authn.AuthConfig{Username: user, Password: password}), nil
	}
	file := configfile.New("")
	if err := file.LoadFromReader(bytes.NewReader([]byte(text))); err != nil {
		return nil, errLogin
	}
	// Only what is in the secret itself counts: a program that it names for keeping passwords is not run.
	c, ok := file.AuthConfigs[at.RegistryStr()]
	if !ok {
		return authn.Anonymous, nil
	}
	return authn.FromConfig(authn.AuthConfig{
		Username: c.Username, Password: c.Password, Auth: c.Auth, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken,
	}), nil
}
