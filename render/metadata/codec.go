package metadata

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

const tag = Prefix + ":domain"

// maxApplied bounds what Unpack makes of a record: the largest domain XML in libvirt's own tests is 200 KB.
const maxApplied = 8 << 20

// Parse finds the record in a domain's XML; nil without an error when there is none.
func Parse(domainXML string) (*Metadata, error) {
	// Most of a domain's XML is not ours to read: the record alone is cut out of it. Libvirt writes the namespace as it
	// was given, and text content is escaped, so the markup cannot stand in a value.
	const open, end = "<" + tag, "</" + tag + ">"
	i := strings.Index(domainXML, open)
	if i < 0 {
		return nil, nil
	}
	j := strings.Index(domainXML[i:], end)
	if j < 0 {
		return nil, fmt.Errorf("cannot read the <%s> metadata: it is not closed", tag)
	}
	e, err := domxml.Parse(domainXML[i : i+j+len(end)])
	if err != nil {
		return nil, fmt.Errorf("cannot read the <%s> metadata: %w", tag, err)
	}
	if e.Attr("xmlns:"+Prefix) != Namespace {
		return nil, nil
	}
	return fromElement(e)
}

func fromElement(e *domxml.Element) (*Metadata, error) {
	m := &Metadata{}
	var bad error
	number := func(s string) int64 {
		if s == "" {
			return 0
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil && bad == nil {
			bad = fmt.Errorf("cannot read the <%s> metadata: %q is no number", tag, s)
		}
		return n
	}
	for _, c := range e.Children {
		switch strings.TrimPrefix(c.Name, Prefix+":") {
		case "config":
			m.Config, m.Flavour = c.Attr("name"), c.Attr("flavour")
			m.Revision, m.Digest = c.Attr("revision"), c.Attr("digest")
		case "run":
			m.Run, m.UID = number(c.Attr("number")), c.Attr("uid")
			m.Outcome, m.Paused = Outcome(c.Attr("outcome")), c.Attr("paused") == "yes"
			m.Started, m.Drift = c.Attr("started"), c.Attr("drift")
		case "good":
			m.Good = Version{c.Attr("revision"), c.Attr("digest")}
		case "failed":
			m.Failed = Failure{Version{c.Attr("revision"), c.Attr("digest")}, c.Attr("reason")}
		case "removal":
			m.DeletionPolicy, m.GraceSeconds = c.Attr("deletionPolicy"), number(c.Attr("graceSeconds"))
		case "volume":
			m.Volumes = append(m.Volumes, Volume{
				Name: c.Attr("name"), Pool: c.Attr("pool"), File: c.Attr("file"),
				Size: number(c.Attr("size")), Keep: c.Attr("keep") == "yes", Image: c.Attr("image"), First: c.Attr("first"),
			})
		case "secret":
			m.Secrets = append(m.Secrets, Secret{Name: c.Attr("name"), Token: c.Attr("token")})
		case "unnamed":
			m.Unnamed = append(m.Unnamed, c.Attr("name"))
		case "slot":
			if m.Slots == nil {
				m.Slots = domxml.Slots{}
			}
			m.Slots[c.Attr("name")] = domxml.Slot{PCI: c.Attr("pci"), Dev: c.Attr("dev")}
		case "applied":
			m.Applied = c.Text
		case "temporary":
			m.Temporary = c.Text
		}
	}
	if bad != nil {
		return nil, bad
	}
	return m, nil
}

// Element is the record as it stands in a domain's <metadata>.
func (m *Metadata) Element() *domxml.Element {
	name := func(s string) string { return Prefix + ":" + s }
	e := domxml.New(tag, "xmlns:"+Prefix, Namespace)
	add := func(kind string, attrs ...string) {
		c := e.Append(domxml.New(name(kind)))
		for i := 0; i < len(attrs); i += 2 {
			if attrs[i+1] != "" {
				c.SetAttr(attrs[i], attrs[i+1])
			}
		}
	}
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return ""
	}
	add("config", "name", m.Config, "flavour", m.Flavour, "revision", m.Revision, "digest", m.Digest)
	add("run", "number", number(m.Run), "uid", m.UID, "outcome", string(m.Outcome), "paused", yes(m.Paused), "started", m.Started, "drift", m.Drift)
	if m.Good != (Version{}) {
		add("good", "revision", m.Good.Revision, "digest", m.Good.Digest)
	}
	if m.Failed != (Failure{}) {
		add("failed", "revision", m.Failed.Revision, "digest", m.Failed.Digest, "reason", m.Failed.Reason)
	}
	add("removal", "deletionPolicy", m.DeletionPolicy, "graceSeconds", number(m.GraceSeconds))
	for _, v := range m.Volumes {
		add("volume", "name", v.Name, "pool", v.Pool, "file", v.File, "size", number(v.Size), "keep", yes(v.Keep), "image", v.Image, "first", v.First)
	}
	for _, s := range m.Secrets {
		add("secret", "name", s.Name, "token", s.Token)
	}
	for _, device := range m.Unnamed {
		add("unnamed", "name", device)
	}
	for _, device := range slices.Sorted(maps.Keys(m.Slots)) {
		add("slot", "name", device, "pci", m.Slots[device].PCI, "dev", m.Slots[device].Dev)
	}
	for _, packed := range []struct{ kind, text string }{{"applied", m.Applied}, {"temporary", m.Temporary}} {
		if packed.text != "" {
			e.Append(domxml.New(name(packed.kind))).Text = packed.text
		}
	}
	return e
}

// XML is the record with its namespace. DomainSetMetadata adds the namespace itself, and refuses an element that has it.
func (m *Metadata) XML() string { return m.Element().String() }

// Put puts the record into a domain in place of the one that it has, leaving others' metadata alone.
func (m *Metadata) Put(domain *domxml.Element) {
	all := domain.Ensure("metadata")
	if old := all.Child(tag); old != nil {
		all.Remove(old)
	}
	all.Append(m.Element())
}

// Redacted is what Pack packs: what Unpack gives has the same String.
func Redacted(domain *domxml.Element) string { return domxml.Redact(domain).String() }

// Pack is the form of Applied and Temporary. Passwords become digests.
func Pack(domain *domxml.Element) string {
	var b bytes.Buffer
	// Writes to a buffer do not fail, and the level is a valid one.
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = io.WriteString(z, Redacted(domain))
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// Unpack is the element that was packed; nil without an error when nothing was.
func Unpack(applied string) (*domxml.Element, error) {
	if applied == "" {
		return nil, nil
	}
	raw, err := base64.StdEncoding.DecodeString(applied)
	if err != nil {
		return nil, fmt.Errorf("cannot unpack what was applied: %w", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("cannot unpack what was applied: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxApplied))
	if err != nil {
		return nil, fmt.Errorf("cannot unpack what was applied: %w", err)
	}
	return domxml.Parse(string(text))
}
