package status

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
)

// Download is an image that is being fetched.
type Download struct {
	// Image is its name or URL.
	Image string `json:"image"`
	// Instances are those that wait for it, sorted.
	Instances []string `json:"instances"`
	// Waiting says that its turn has not come.
	Waiting bool `json:"waiting,omitempty"`
	// Received are the bytes that are here, of Total, which is 0 while it is not known.
	Received int64 `json:"received"`
	Total    int64 `json:"total,omitempty"`
	// Seconds are since somebody first wanted it.
	Seconds int64 `json:"seconds"`
}

// Far says how far it is.
func (d Download) Far() string {
	switch {
	case d.Waiting:
		return "waiting for others to be fetched"
	case d.Total > 0:
		return fmt.Sprintf("%d%% of %s, for %d s", 100*d.Received/d.Total, mebibytes(d.Total), d.Seconds)
	}
	return fmt.Sprintf("%s, for %d s", mebibytes(d.Received), d.Seconds)
}

// For says which instances wait for it, the first of many.
func (d Download) For() string {
	const show = 5
	if n := len(d.Instances); n > show {
		return fmt.Sprintf("for %s and %d more", strings.Join(d.Instances[:show], ", "), n-show)
	}
	return "for " + strings.Join(d.Instances, ", ")
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Image is an image of an instance's volume.
type Image struct {
	Volume string `json:"volume"`
	Image  string `json:"image"`
	// Digest is what it was when it was first fetched to this host: of the OCI image, or of what is at the URL.
	Digest string `json:"digest,omitempty"`
}

// imagesOf are the fetched images of an instance's volumes, with their digests by the places where they are kept.
func imagesOf(i *render.Instance, digests map[string]string) []Image {
	var list []Image
	for _, v := range i.Volumes {
		if v.Fetch != nil {
			list = append(list, Image{Volume: v.Name, Image: v.Fetch.String(), Digest: digests[v.Fetched()]})
		}
	}
	return list
}

// downloads are those under way; nothing is waited for.
func (s *Server) downloads() []Download {
	if s.sources.Downloads == nil {
		return nil
	}
	return s.sources.Downloads()
}

func (s *Server) listDownloads(w http.ResponseWriter, _ *http.Request) {
	list(w, "DownloadList", slices.Values(s.downloads()))
}

// fetching says of an instance that it waits for an image, if it does: that is newer than the last pass.
func (i Instance) fetching(downloads []Download) Instance {
	n := slices.IndexFunc(downloads, func(d Download) bool { return slices.Contains(d.Instances, i.Metadata.Name) })
	c := slices.IndexFunc(i.Status.Conditions, func(c Condition) bool { return c.Type == Synced })
	if n < 0 || c < 0 {
		return i
	}
	i.Status.Conditions = slices.Clone(i.Status.Conditions)
	now := &i.Status.Conditions[c]
	now.Status, now.Reason, now.Message = "False", "Fetching", fmt.Sprintf("fetching the image %s: %s", downloads[n].Image, downloads[n].Far())
	return i
}

// shown is what the page shows.
type shown struct {
	*Snapshot
	Instances []Instance
	Downloads []Download
}

func (s *Server) shown() shown {
	out := shown{Snapshot: s.latest.Load(), Downloads: s.downloads()}
	out.Instances = out.Snapshot.Instances
	if len(out.Downloads) > 0 {
		out.Instances = slices.Clone(out.Instances)
		for n := range out.Instances {
			out.Instances[n] = out.Instances[n].fetching(out.Downloads)
		}
	}
	return out
}
