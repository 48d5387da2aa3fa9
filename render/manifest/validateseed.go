package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// seedPart is one part of a seed, in the ways that it can be said.
type seedPart struct {
	name, ref            string // of the part, and of its secret ref
	plain, encoded, from string
	secret               *SecretRef
}

func (s *CloudInit) parts() []seedPart {
	return []seedPart{
		{name: "userData", ref: "secretRef", plain: s.UserData, encoded: s.UserDataBase64, from: s.UserDataFrom, secret: s.UserDataSecretRef},
		{name: "networkData", ref: "networkDataSecretRef", plain: s.NetworkData, encoded: s.NetworkDataBase64, from: s.NetworkDataFrom,
			secret: s.NetworkDataSecretRef},
		{name: "metaData", ref: "metaDataSecretRef", plain: s.MetaData, encoded: s.MetaDataBase64, from: s.MetaDataFrom, secret: s.MetaDataSecretRef},
	}
}

func (c *specChecker) cloudInit(at string, s *CloudInit) {
	for _, p := range s.parts() {
		c.seedPart(at, p)
	}
	if *s == (CloudInit{}) && !c.partial {
		c.add(at, "has no data; say userData")
	}
}

func (c *specChecker) ignition(at string, g *Ignition) {
	c.seedPart(at, seedPart{name: "config", ref: "secretRef", plain: g.Config, encoded: g.ConfigBase64, from: g.ConfigFrom, secret: g.SecretRef})
	if *g == (Ignition{}) && !c.partial {
		c.add(at, "has no configuration; say config, configBase64, configFrom or secretRef")
	}
	if g.Config != "" && !strings.Contains(g.Config, placeholderMark) && !json.Valid([]byte(g.Config)) {
		c.add(at+".config", "is not JSON, which Ignition reads; butane makes it of YAML")
	}
}

// placeholderMark begins a placeholder: what holds one is JSON only once it has been put in.
const placeholderMark = "$(gitvirt."

// seedPart checks that a part is said in one way.
func (c *specChecker) seedPart(at string, p seedPart) {
	first := ""
	for _, way := range []struct {
		field string
		said  bool
	}{
		{p.name, p.plain != ""}, {p.name + "Base64", p.encoded != ""}, {p.name + "From", p.from != ""}, {p.ref, p.secret != nil},
	} {
		switch {
		case !way.said:
		case first == "":
			first = way.field
		default:
			c.add(at+"."+way.field, fmt.Sprintf("cannot be said together with %s; take one out", first))
		}
	}
	c.base64(at+"."+p.name+"Base64", p.encoded)
	if p.secret != nil {
		c.secretRef(at+"."+p.ref, p.secret)
	}
}
