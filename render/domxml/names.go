package domxml

import "slices"

// Unnamed are the devices of want that have a name there, and are in have without one: those that were there before they
// were ours. Names are those of their user aliases.
func Unnamed(want, have *Element) []string {
	devices, there := want.Child("devices"), have.Child("devices")
	if devices == nil || there == nil {
		return nil
	}
	var all []string
	for _, kind := range childNames(devices, nil) {
		haves := there.All(kind)
		carried := map[string]bool{}
		for _, h := range haves {
			carried[h.UserAlias()] = true
		}
		wants, names := devices.All(kind), map[*Element]string{}
		for n, w := range wants {
			if name := w.UserAlias(); name != "" && !carried[name] {
				c := *w // without its name it is known by what it says
				c.Children = slices.DeleteFunc(slices.Clone(w.Children), func(e *Element) bool { return e.Name == "alias" })
				wants[n], names[&c] = &c, name
			}
		}
		for w, h := range pair("devices/"+kind, wants, haves) {
			if names[w] != "" && h.UserAlias() == "" {
				all = append(all, names[w])
			}
		}
	}
	slices.Sort(all)
	return all
}

// Unname returns a copy of a domain in which the devices with these names have none. It is the domain itself when there are
// no names.
func Unname(domain *Element, names []string) *Element {
	if len(names) == 0 {
		return domain
	}
	next := domain.Clone()
	if devices := next.Child("devices"); devices != nil {
		for _, d := range devices.Children {
			if name := d.UserAlias(); name != "" && has(names, name) {
				d.Remove(d.Child("alias"))
			}
		}
	}
	return next
}
