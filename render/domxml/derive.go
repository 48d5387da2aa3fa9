package domxml

import "math/big"

// Libvirt works the memory out itself where the declaration says it elsewhere: with NUMA cells it is their sum and that of the
// memory devices, and the current memory is no more than that, and all of it when it is none. (Seen with libvirt 9.0; the
// formatdomain page says so of NUMA.)

// defers says whether an element waits for all others.
func (c *converger) defers(path string) bool {
	return path == "currentMemory" || path == "memory" && (hasCells(c.want) || hasCells(c.next))
}

func hasCells(domain *Element) bool { return domain.Child("cpu/numa/cell") != nil }

// settleMemory makes the memory of the next domain what libvirt will make it.
func (c *converger) settleMemory() {
	total := cellMemory(c.next)
	declared := c.want.Child("memory")
	m := c.next.Child("memory")
	switch {
	case m == nil:
		return
	case total != nil:
		if memory.of(m) == nil || memory.of(m).Cmp(total) != 0 {
			setMemory(m, total)
		}
	case declared != nil && c.defers("memory") && !sameText("memory", declared, m):
		c.tell(cellMemory(c.was) != nil, "memory", amountText(m), amountText(declared))
		m.Text, m.Attrs = declared.Text, declared.Clone().Attrs
	}
	total = memory.of(m)
	current, want := c.next.Child("currentMemory"), c.want.Child("currentMemory")
	if current == nil || want == nil || total == nil || memory.of(want) == nil {
		return
	}
	kept, n := memory.of(current), atMost(memory.of(want), total)
	if kept != nil && (kept.Cmp(n) == 0 || kept.Cmp(memory.of(want)) == 0) {
		return
	}
	// It follows from the memory when the same was said before, and was cut to what there was then.
	all, said := memory.of(c.have.Child("memory")), c.was.Child("currentMemory")
	follows := kept != nil && all != nil && said != nil && sameText("currentMemory", want, said) && kept.Cmp(atMost(memory.of(want), all)) == 0
	c.tell(follows, "currentMemory", amountText(current), amountText(want))
	current.Text, current.Attrs = want.Text, want.Clone().Attrs
	if memory.of(want).Cmp(n) != 0 {
		setMemory(current, n)
	}
}

// atMost is an amount that is neither none nor more than there is.
func atMost(n, total *big.Int) *big.Int {
	if n.Sign() == 0 || n.Cmp(total) > 0 {
		return total
	}
	return n
}

func setMemory(e *Element, n *big.Int) {
	e.Text = n.String()
	e.SetAttr("unit", "KiB")
}

// cellMemory is the sum of the cells' memory and the memory devices'; nil when the cells have none.
func cellMemory(domain *Element) *big.Int {
	cells := domain.Child("cpu/numa")
	if cells == nil {
		return nil
	}
	sum := new(big.Int)
	for _, cell := range cells.All("cell") {
		if n := amounts["cpu/numa/cell"].of(cell); n != nil {
			sum.Add(sum, n)
		}
	}
	if sum.Sign() == 0 {
		return nil
	}
	for _, m := range domain.Child("devices").All("memory") {
		if size := m.Child("target/size"); size != nil {
			if n := memory.of(size); n != nil {
				sum.Add(sum, n)
			}
		}
	}
	return sum
}

// settleConsole gives the first serial port what was declared of the first console when no serial port is declared: they are
// one, and libvirt takes the serial port's word.
func (c *converger) settleConsole() {
	want, console, serial := c.want.Child("devices/console"), c.next.Child("devices/console"), c.next.Child("devices/serial")
	if want == nil || console == nil || serial == nil || c.want.Child("devices/serial") != nil || !isSerialConsole(want) || !isSerialConsole(console) {
		return
	}
	serial.SetAttr("type", console.Attr("type"))
	for _, name := range []string{"source", "protocol", "log"} {
		for _, e := range serial.All(name) {
			serial.Remove(e)
		}
		for _, e := range console.All(name) {
			serial.insert(e.Clone())
		}
	}
}
