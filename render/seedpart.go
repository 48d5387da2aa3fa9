package render

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// fieldError is a problem of a field below a volume.
type fieldError struct {
	field string
	err   error
}

func (e fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e fieldError) Unwrap() error { return e.err }

// part is one part of what a guest is set up with, in the ways that a document can say it.
type part struct {
	name, ref            string // the fields of the part, and of its secret ref
	plain, encoded, from string
	secret               *manifest.SecretRef
}

// content is what a part says. A token stands for what is secret: then placeholders are left as they are, so that a secret
// reaches the guest to the byte. Said tells nothing from nothing said.
type content struct {
	text   []byte
	token  string
	sealed bool // it is secret, and the host's keys are not here
	said   bool
}

func (p part) read(i *Instance, in Input, hostname string) (content, error) {
	field, raw, where := p.name, []byte(p.plain), ""
	switch {
	case p.plain != "":
	case p.encoded != "":
		var err error
		field = p.name + "Base64"
		if raw, err = base64.StdEncoding.DecodeString(p.encoded); err != nil {
			return content{}, fieldError{field, errors.New("is not base64")}
		}
	case p.from != "":
		field, where = p.name+"From", p.from+": "
		var ok bool
		if raw, ok = in.Text(p.from); !ok {
			return content{}, fieldError{field, fmt.Errorf("there is no file %s in the repository: say a path that is relative to the document's folder", p.from)}
		}
	case p.secret != nil:
		s := i.found[p.secret]
		return content{text: s.value.Bytes(), token: s.token, sealed: s.sealed, said: true}, nil
	default:
		return content{}, nil
	}
	text, err := substitute(raw, i.placeholders(hostname))
	if err != nil {
		return content{}, fieldError{field, fmt.Errorf("%s%w", where, err)}
	}
	return content{text: text, said: true}, nil
}

func cloudInitParts(c *manifest.CloudInit) (user, network, meta part) {
	return part{"userData", "secretRef", c.UserData, c.UserDataBase64, c.UserDataFrom, c.UserDataSecretRef},
		part{"networkData", "networkDataSecretRef", c.NetworkData, c.NetworkDataBase64, c.NetworkDataFrom, c.NetworkDataSecretRef},
		part{"metaData", "metaDataSecretRef", c.MetaData, c.MetaDataBase64, c.MetaDataFrom, c.MetaDataSecretRef}
}

// The words of meta data that gitvirt says, and a document may say instead.
const instanceID, localHostname = "instance-id", "local-hostname"

var yamlLine = regexp.MustCompile(`line (\d+)`)

// readMetaData reads the mapping of a document's meta data. Errors say nothing of its words: they may be secret.
func readMetaData(text []byte) (map[string]any, error) {
	said := map[string]any{}
	err := yaml.Unmarshal(text, &said, func(d *json.Decoder) *json.Decoder {
		d.UseNumber()
		return d
	})
	if err != nil {
		where := ""
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			where = ": look at line " + m[1]
		}
		return nil, errors.New("is no mapping in YAML, such as public-keys: [ssh-ed25519 …]" + where)
	}
	for _, key := range []string{instanceID, localHostname} {
		if value, ok := said[key]; ok {
			if word, isText := value.(string); !isText || word == "" {
				return nil, fmt.Errorf("has %s without a text: say one, or take it out", key)
			}
		}
	}
	return said, nil
}
