package plan

import (
	"html"
	"strings"
)

// Uses are the networks that the interfaces of a domain's XML are on, with the UUIDs of their ports; empty for one without.
type Uses map[string][]string

// UsesMemo are the uses of XML that was looked at, by its hash: it is large, and most of it stays the same.
type UsesMemo map[string]Uses

// of is what a domain's XML uses.
func (m UsesMemo) of(x XML) Uses {
	if u, ok := m[x.Hash]; ok && x.Hash != "" {
		return u
	}
	u := usesOf(x.Text())
	if m != nil && x.Hash != "" {
		m[x.Hash] = u
	}
	return u
}

// usesOf reads XML as libvirt writes it.
func usesOf(text string) Uses {
	var u Uses
	for {
		_, after, ok := strings.Cut(text, "<interface type='network'")
		if !ok {
			return u
		}
		device, rest, _ := strings.Cut(after, "</interface>")
		text = rest
		if _, name, ok := strings.Cut(device, "<source network='"); ok {
			name, _, _ = strings.Cut(name, "'")
			_, port, _ := strings.Cut(device, " portid='")
			port, _, _ = strings.Cut(port, "'")
			if u == nil {
				u = Uses{}
			}
			name = html.UnescapeString(name)
			u[name] = append(u[name], port)
		}
	}
}

// connected are the interfaces of running machines by the networks that they are on.
func connected(world World, memo UsesMemo) Uses {
	all := Uses{}
	for i := range world.Domains {
		if d := &world.Domains[i]; d.Active() && !d.Stuck {
			for name, ports := range memo.of(d.Live) {
				all[name] = append(all[name], ports...)
			}
		}
	}
	return all
}
