package runner

import (
	"sync"

	"github.com/gitvirt/gitvirt/runner/download"
)

// digests are those of images, by their places. A digest that was recorded stays.
type digests struct {
	mu    sync.Mutex
	known map[string]string
}

// Digest is that of the image that was first fetched to a place; empty while nobody knows it.
func (r *Runner) Digest(place string) string {
	r.digests.mu.Lock()
	defer r.digests.mu.Unlock()
	if d, ok := r.digests.known[place]; ok {
		return d
	}
	d, err := download.Recorded(place)
	if err != nil || d == "" {
		return "" // whoever fetches it says what is wrong
	}
	r.digests.known[place] = d
	return d
}
