package runner

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/resource"
	"github.com/gitvirt/gitvirt/render/secret"
)

// Secrets knows the values that tokens stand for.
type Secrets interface {
	// Token stands for a value, and is what Value finds it by.
	Token(secret.Value) string
	Value(token string) (secret.Value, bool)
}

// password is the attribute of a <graphics> that holds one, as libvirt and we write it. Only the start tag of such an element
// is looked at, attribute by attribute: a title, or another attribute, can have the same words, and what stands for another
// machine's secret would become that.
var password = regexp.MustCompile(`(<graphics(?:\s+[\w:.-]+\s*=\s*(?:'[^']*'|"[^"]*"))*?\s+passwd\s*=\s*)('[^']+'|"[^"]+")`)

// conceal puts tokens in the places of the passwords in XML that libvirt gives, so that nobody but the runner sees them.
func (r *Runner) conceal(text string) string {
	if r.opts.Secrets == nil || !strings.Contains(text, "passwd") {
		return text
	}
	return password.ReplaceAllStringFunc(text, func(tag string) string {
		m := password.FindStringSubmatch(tag)
		value := html.UnescapeString(m[2][1 : len(m[2])-1])
		return m[1] + "'" + r.opts.Secrets.Token(secret.NewValue([]byte(value))) + "'"
	})
}

// reveal puts the passwords back, in XML that libvirt is given.
func (r *Runner) reveal(text string) (string, error) {
	if r.opts.Secrets == nil || !strings.Contains(text, "passwd") {
		return text, nil
	}
	var unknown error
	text = password.ReplaceAllStringFunc(text, func(tag string) string {
		m := password.FindStringSubmatch(tag)
		value, ok := r.opts.Secrets.Value(m[2][1 : len(m[2])-1])
		if !ok {
			unknown = errors.New("a password of it is not known any more")
			return tag
		}
		var b strings.Builder
		if err := xml.EscapeText(&b, value.Bytes()); err != nil {
			unknown = errors.New("a password of it cannot be written as XML")
		}
		return m[1] + "'" + b.String() + "'"
	})
	return text, unknown
}

// usage is the XML element that names a secret, by the type of its usage (https://libvirt.org/formatsecret.html).
func usageElement(kind string) (string, bool) {
	element, ok := map[string]string{"ceph": "name", "iscsi": "target", "volume": "volume", "vtpm": "name"}[kind]
	return element, ok
}

// secretXML is the definition of a secret. Its value is kept over a restart of the host, so that machines start before the
// agent does, and libvirt gives it to nobody.
func secretXML(s render.Secret, instance string) (string, error) {
	element, ok := usageElement(s.Kind)
	if !ok {
		return "", fmt.Errorf("libvirt has no secrets of the type %q", s.Kind)
	}
	var usage strings.Builder
	if err := xml.EscapeText(&usage, []byte(s.Usage(instance))); err != nil {
		return "", err
	}
	return fmt.Sprintf("<secret ephemeral='no' private='yes'><uuid>%s</uuid><description>of gitvirt's machine</description>"+
		"<usage type='%s'><%s>%s</%s></usage></secret>", s.UUID, s.Kind, element, usage.String(), element), nil
}

// poolSecretXML is the definition of a secret that a storage pool logs in by.
func poolSecretXML(s resource.Secret) (string, error) {
	element, ok := usageElement(s.Kind)
	if !ok {
		return "", fmt.Errorf("libvirt has no secrets of the type %q", s.Kind)
	}
	var usage strings.Builder
	if err := xml.EscapeText(&usage, []byte(s.Usage)); err != nil {
		return "", err
	}
	return fmt.Sprintf("<secret ephemeral='no' private='yes'><uuid>%s</uuid><description>of gitvirt's storage pool</description>"+
		"<usage type='%s'><%s>%s</%s></usage></secret>", s.UUID, s.Kind, element, usage.String(), element), nil
}

// keepSecrets has libvirt keep a domain's secrets. Nobody can ask it for values, so they are set each time.
func (r *Runner) keepSecrets(ctx context.Context, s plan.Step) error {
	if r.opts.Secrets == nil {
		return errors.New("the runner was given no secrets")
	}
	type kept struct {
		name, xml string
		value     secret.Value
	}
	var list []kept
	for _, want := range s.Secrets {
		value, ok := r.opts.Secrets.Value(want.Token)
		if !ok {
			return fmt.Errorf("the secret %s is not known any more", want.Name)
		}
		text, err := secretXML(want, s.Domain)
		if err != nil {
			return fmt.Errorf("the secret %s: %w", want.Name, err)
		}
		list = append(list, kept{want.Name, text, value})
	}
	return r.change(ctx, change{step: s, limit: r.opts.Deadlines.Change, f: func(lv *libvirt.Libvirt, _ libvirt.Domain) error {
		for _, k := range list {
			defined, err := lv.SecretDefineXML(k.xml, 0)
			if err == nil {
				err = lv.SecretSetValue(defined, k.value.Bytes(), 0)
			}
			if err != nil {
				return fmt.Errorf("the secret %s: %w", k.name, err)
			}
		}
		return nil
	}})
}

// deleteSecrets has libvirt forget secrets of a domain. It looks first whether they are the domain's.
func (r *Runner) deleteSecrets(ctx context.Context, s plan.Step) error {
	return r.change(ctx, change{step: s, limit: r.opts.Deadlines.Change, f: func(lv *libvirt.Libvirt, _ libvirt.Domain) error {
		for _, gone := range s.Secrets {
			id, err := uuid.Parse(gone.UUID)
			if err != nil {
				return fmt.Errorf("the secret %s: %w", gone.Name, err)
			}
			have, err := lv.SecretLookupByUUID(libvirt.UUID(id))
			if code(err) == libvirt.ErrNoSecret {
				continue
			}
			if err == nil && !strings.HasPrefix(have.UsageID, render.UsageOf(s.Domain)) {
				return fmt.Errorf("the secret %s is not the machine's", gone.UUID)
			}
			if err == nil {
				err = lv.SecretUndefine(have)
			}
			if err != nil && code(err) != libvirt.ErrNoSecret {
				return fmt.Errorf("the secret %s: %w", gone.Name, err)
			}
		}
		return nil
	}})
}

// secrets are those that libvirt keeps for gitvirt's machines; nil when nobody can tell.
func (r *Runner) secrets(ctx context.Context) ([]plan.LibvirtSecret, error) {
	if r.opts.Secrets == nil {
		return nil, nil
	}
	list, err := read(ctx, r, func(lv *libvirt.Libvirt) ([]libvirt.Secret, error) {
		all, _, err := lv.ConnectListAllSecrets(1, 0)
		return all, err
	})
	if code(err) == libvirt.ErrNoSupport {
		return nil, nil
	}
	known := []plan.LibvirtSecret{}
	for _, s := range list {
		if strings.HasPrefix(s.UsageID, render.UsagePrefix) {
			known = append(known, plan.LibvirtSecret{UUID: uuid.UUID(s.UUID).String(), Usage: s.UsageID})
		}
	}
	return known, err
}

// scrubbed is an error whose words are without a secret.
type scrubbed struct {
	text string
	err  error
}

func (e scrubbed) Error() string { return e.text }
func (e scrubbed) Unwrap() error { return e.err }

// scrub takes a step's secrets out of what is said about its failure: libvirt and QEMU quote what they do not like.
func (r *Runner) scrub(err error, s plan.Step) error {
	if err == nil || r.opts.Secrets == nil {
		return err
	}
	var tokens []string
	for _, m := range password.FindAllStringSubmatch(s.XML, -1) {
		tokens = append(tokens, m[2][1:len(m[2])-1])
	}
	for _, k := range s.Secrets {
		tokens = append(tokens, k.Token)
	}
	for _, v := range s.Volumes {
		if v.Encryption != nil {
			tokens = append(tokens, v.Encryption.Token)
		}
	}
	text := err.Error()
	for _, token := range tokens {
		if value, ok := r.opts.Secrets.Value(token); ok && !value.IsEmpty() {
			for _, form := range quotedForms(value.Bytes()) {
				text = strings.ReplaceAll(text, form, "(secret)")
			}
		}
	}
	if text == err.Error() {
		return err
	}
	return scrubbed{text, err}
}

// quotedForms are a value as it may be quoted: as it is, as it stood in the XML, as libvirt writes it into XML, and as libvirt
// hands it to QEMU.
func quotedForms(value []byte) []string {
	var b strings.Builder
	_ = xml.EscapeText(&b, value) // a builder takes everything
	libvirts := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&apos;", `"`, "&quot;").Replace(string(value))
	return []string{string(value), b.String(), libvirts, base64.StdEncoding.EncodeToString(value)}
}
