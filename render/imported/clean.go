package imported

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// defaults are what libvirt writes into each definition that says nothing of it (seen with libvirt 9.0).
var defaults = map[string]string{"on_poweroff": "destroy", "on_reboot": "restart", "on_crash": "destroy"}

// cleaned is a definition without what documents need not say, or must not: what libvirt comes to by itself, and what is
// secret. It says of the second what that is.
func cleaned(xml *domxml.Element, h Host) (*domxml.Element, []string) {
	e := xml.Clone()
	var kept []string
	e.RemoveAttr("id")
	drop := func(parent *domxml.Element, name string, when func(*domxml.Element) bool) {
		for _, c := range slices.Clone(parent.Children) {
			if c.Name == name && when(c) {
				parent.Remove(c)
			}
		}
	}
	always := func(*domxml.Element) bool { return true }
	drop(e, "name", always)
	for name, value := range defaults {
		drop(e, name, func(c *domxml.Element) bool { return c.Text == value })
	}
	if all := e.Child("metadata"); all != nil {
		drop(all, metadata.Prefix+":domain", always)
		drop(e, "metadata", func(c *domxml.Element) bool { return len(c.Children) == 0 })
	}
	if vcpu := e.Child("vcpu"); vcpu.Attr("placement") == "static" {
		vcpu.RemoveAttr("placement")
	}
	if devices := e.Child("devices"); devices != nil {
		drop(devices, "emulator", func(c *domxml.Element) bool { return c.Text == h.Emulator && e.Child("os/type").Attr("arch") != "i686" }) // which has another
		for _, d := range devices.Children {
			drop(d, "alias", func(c *domxml.Element) bool { return d.UserAlias() == "" })
		}
	}
	conceal(e, "", &kept)
	drop(e, "qemu:commandline", func(c *domxml.Element) bool {
		if !speaksOfSecrets(c) {
			return false
		}
		kept = append(kept, "<qemu:commandline>, which seems to have a password in it")
		return true
	})
	return e, kept
}

// conceal takes out what is secret.
func conceal(e *domxml.Element, path string, kept *[]string) {
	path += "/" + e.Name
	for _, attr := range []string{"passwd", "passwdValidTo", "connected"} {
		if e.Attr(attr) == "" {
			continue
		}
		if attr == "passwd" {
			*kept = append(*kept, fmt.Sprintf("the password of <%s type='%s'>", e.Name, e.Attr("type")))
		}
		if attr == "passwd" || strings.HasSuffix(path, "/graphics") {
			e.RemoveAttr(attr)
		}
	}
	for _, c := range slices.Clone(e.Children) {
		if c.Name == "cookies" {
			e.Remove(c)
			*kept = append(*kept, "the cookies of a disk's source")
			continue
		}
		conceal(c, path, kept)
	}
}

// speaksOfSecrets says whether QEMU's arguments may have a password in them.
func speaksOfSecrets(e *domxml.Element) bool {
	for _, c := range e.Children {
		for _, a := range c.Attrs {
			value := strings.ToLower(a.Value)
			for _, word := range []string{"passw", "secret,", "data=", "token", "key="} {
				if strings.Contains(value, word) {
					return true
				}
			}
		}
	}
	return false
}
