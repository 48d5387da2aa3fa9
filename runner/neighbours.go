package runner

import (
	"bufio"
	"bytes"
	"cmp"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// arpTable is the host's table of IPv4 neighbours (proc_net(5)). It is read as a file, because libvirt 9.0 cannot read what newer
// kernels answer ("wrong nlmsg len", seen with 6.18), and says so in its log each time.
const arpTable = "/proc/net/arp"

// neighboursAge is for how long a look at the table serves: it has all guests in it.
const neighboursAge = time.Second

// neighbours is the host's ARP table.
type neighbours struct {
	file string

	mu     sync.Mutex
	looked time.Time
	found  []plan.Address
}

func newNeighbours(file string) *neighbours { return &neighbours{file: cmp.Or(file, arpTable)} }

// known is what the table has. One that cannot be read has nothing: there are other sources.
func (n *neighbours) known() []plan.Address {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.looked) > neighboursAge {
		table, _ := os.ReadFile(n.file)
		n.looked, n.found = time.Now(), parseARP(table)
	}
	return n.found
}

// parseARP reads the table: address, hardware type, flags, MAC address, mask, device. An entry without an answer has the flags 0x0.
func parseARP(table []byte) []plan.Address {
	var all []plan.Address
	for lines := bufio.NewScanner(bytes.NewReader(table)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[2] == "0x0" {
			continue
		}
		ip, err := netip.ParseAddr(fields[0])
		mac, err2 := net.ParseMAC(fields[3])
		if err == nil && err2 == nil && ofNetwork(ip) {
			all = append(all, plan.Address{MAC: mac.String(), IP: ip, Source: plan.FromARP})
		}
	}
	return all
}
