package domxml

// AsStarted is a running domain with that which libvirt rewrites when it starts one as it was declared for this start: a CPU
// becomes the model and the features that QEMU has, and firmware="efi" the files that were found for it. Nobody can change
// either while the machine runs. was is nil where that is not known: then the domain stays as it is.
func AsStarted(live, was *Element) *Element {
	if was == nil {
		return live
	}
	next := Graft(live, was, "cpu")
	os, before := next.Child("os"), was.Child("os")
	if os != nil && before != nil {
		*os = *Graft(os, before, "@firmware", "firmware")
	}
	return next
}
