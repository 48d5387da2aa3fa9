package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/metadata"
)

// cache is what earlier observations learnt. It holds XML as packed text, and each text once; parsed trees would take a
// hundred times as much memory.
//
// What an event speaks of is spoilt: it is read again. Moments are numbered: each event is one, and so is each
// beginning of listening. What was read after the last moment of its domain is as libvirt has it, as far as events
// tell.
type cache struct {
	mu        sync.Mutex
	moment    uint64
	listening uint64                  // the moment since which all events were received; 0: they are not
	spoilt    map[libvirt.UUID]uint64 // the last event of each domain
	foreign   bool                    // the folders are not this libvirt's

	// These are the observation's; only one runs at a time.
	domains   map[libvirt.UUID]*entry
	inactive  packer // of their XML
	live      packer
	layout    layout // of the last observation that was complete
	autostart map[libvirt.UUID]bool
	full      time.Time // when everything was read last
}

// entry is what was read about one domain.
type entry struct {
	domain plan.Domain
	uuid   libvirt.UUID
	read   uint64 // the moment before it was read
	files  domainFiles
	moved  bool // the files have changed since
}

func newCache() *cache {
	return &cache{spoilt: map[libvirt.UUID]uint64{}, domains: map[libvirt.UUID]*entry{}}
}

// subscribed notes that events are received from now on, or no more.
func (c *cache) subscribed(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.listening = 0
	if on {
		c.listening = c.moment
	}
}

// spoil notes that an event spoke of a domain.
func (c *cache) spoil(uuid libvirt.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.spoilt[uuid] = c.moment
}

// spoilAll notes an event that may speak of any domain.
func (c *cache) spoilAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	if c.listening > 0 {
		c.listening = c.moment
	}
}

// distrust notes that the folders are another libvirt's. It says whether that is news.
func (c *cache) distrust() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := !c.foreign
	c.foreign = true
	return news
}

// heard is what events have told up to one moment. Without listening nothing that was read before holds.
type heard struct {
	moment, listening uint64
	spoilt            map[libvirt.UUID]uint64
}

// hear returns what events have told by now, and forgets the domains that are gone.
func (c *cache) hear() heard {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := heard{moment: c.moment, listening: c.listening, spoilt: map[libvirt.UUID]uint64{}}
	if c.foreign {
		h.listening = 0
	}
	for uuid, moment := range c.spoilt {
		if e := c.domains[uuid]; e == nil || e.read >= moment {
			delete(c.spoilt, uuid) // it was read since; one that is not known is read anyway
			continue
		}
		h.spoilt[uuid] = moment
	}
	return h
}

// holds says that no event has spoken of the entry since it was read.
func (h heard) holds(e *entry) bool {
	return h.listening > 0 && e.read >= h.listening && h.spoilt[e.uuid] <= e.read
}

// text is the XML of a domain as libvirt gave it. An unchanged text keeps its hash, its record, and its place in memory.
// Comparing takes 2 µs, packing 3 µs, hashing 5 µs, and parsing the record 30 µs for each domain.
func (p *packer) text(xml string, old plan.XML, problem func(error)) plan.XML {
	if old.Packed != nil && xml == old.Text() {
		return old
	}
	sum := sha256.Sum256([]byte(xml))
	x := plan.XML{Packed: p.pack(xml), Hash: hex.EncodeToString(sum[:]), Agent: plan.HasAgent(xml), MACs: plan.MACs(xml)}
	record, err := metadata.Parse(xml)
	if err != nil {
		problem(err) // without a record the domain is not ours, and is left alone
	}
	x.Meta = record
	return x
}
