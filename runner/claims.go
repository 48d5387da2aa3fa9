package runner

import (
	"fmt"
	"sync"
)

// claims keep a volume from being made and deleted at once.
type claims struct {
	mu       sync.Mutex
	making   map[string]int // by POOL/NAME: how many steps are at it
	deleting map[string]bool
}

func newClaims() *claims { return &claims{making: map[string]int{}, deleting: map[string]bool{}} }

// make claims volumes for a step that makes them. Release gives them back.
func (c *claims) make(volumes []string) (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range volumes {
		if c.deleting[v] {
			return nil, fmt.Errorf("the volume %s is being deleted", v)
		}
	}
	for _, v := range volumes {
		c.making[v]++
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, v := range volumes {
			if c.making[v]--; c.making[v] == 0 {
				delete(c.making, v)
			}
		}
	}, nil
}

// remove claims a volume for whoever deletes it.
func (c *claims) remove(volume string) (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.making[volume] > 0 || c.deleting[volume] {
		return nil, fmt.Errorf("the volume %s is being made or deleted just now", volume)
	}
	c.deleting[volume] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.deleting, volume)
	}, nil
}
