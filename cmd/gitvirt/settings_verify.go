package main

import "github.com/gitvirt/gitvirt/source"

// verify says which signatures a revision must carry; only the file has it. The files that it names are read at each use.
type verify struct {
	Mode              string `yaml:"mode"`
	OpenPGPKeyring    string `yaml:"openPGPKeyring"`
	SSHAllowedSigners string `yaml:"sshAllowedSigners"`
	SSHRevokedKeys    string `yaml:"sshRevokedKeys"`
}

func (v verify) source() source.Verify {
	return source.Verify{
		Mode: source.VerifyMode(v.Mode), OpenPGPKeyring: v.OpenPGPKeyring, SSHAllowedSigners: v.SSHAllowedSigners, SSHRevokedKeys: v.SSHRevokedKeys,
	}
}

func (v verify) validate() error { return v.source().Validate() }

// ref says which tags are followed instead of a branch; only the file has it.
type ref struct {
	TagPattern string `yaml:"tagPattern"`
	Semver     string `yaml:"semver"`
}

func (r ref) source() source.Tags { return source.Tags{Pattern: r.TagPattern, Semver: r.Semver} }

func (r ref) validate() error { return r.source().Validate() }
