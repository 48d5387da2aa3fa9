package domxml

// Unnamed are the devices of want that have a name there, and are in have without one: those that were there before they
// were ours. Names are those of their user aliases.
func Unnamed(want, have *Element) []string {
	devices, there := want.Child("devices"), have.Child("devices")
	if devices == nil || there == nil {
		return nil
	}
	var names []string
	for _, kind := range childNames(devices, nil) {
		wants := named(devices, kind)
		pairs := pair("devices/"+kind, wants, named(there, kind))
		for _, w := range wants {
			if h := pairs[w]; h != nil && w.UserAlias() != "" && h.UserAlias() == "" {
				names = append(names, w.UserAlias())
			}
		}
	}
	return names
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
