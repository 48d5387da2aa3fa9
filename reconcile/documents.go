package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// maxBodies is how many configs' bodies are held on to while a revision is read, before it is known which machines are this
// host's. Of more than that, those that are needed are read once more.
const maxBodies = 2000

// Documents read revisions. They keep what they read by its hash, so that a new revision costs what changed in it. They are for
// one goroutine.
type Documents struct {
	host string // whose, or of all hosts: then nothing is left out
	// What was read last: the entries of a revision, for each the file, nil for one that is no document, and their set. None of
	// it is changed any more.
	entries []source.Entry
	files   []*manifest.File
	set     *manifest.Set

	// touched are the documents by which the revisions differ that were read since they were asked for.
	touched  []*manifest.Document
	bodies   map[*manifest.Document]any // of lean documents
	aways    map[manifest.Away]*manifest.Away
	texts    map[string]text // by path
	rendered map[string]made
	epoch    uint64 // of the secrets that instances are completed with
}

// text is a file that a document names.
type text struct {
	hash string
	data []byte
}

// NewDocuments returns an empty reader for the agent of a host. Of machines on other hosts it keeps next to nothing. Without a
// host it keeps all.
func NewDocuments(host string) *Documents {
	return &Documents{host: host, bodies: map[*manifest.Document]any{}, aways: map[manifest.Away]*manifest.Away{}}
}

// Fork is a reader that begins with what this one has read last. It is for another goroutine.
func (d *Documents) Fork() *Documents {
	f := NewDocuments(d.host)
	f.entries, f.files, f.set = d.entries, d.files, d.set
	return f
}

// take takes over the bodies that a reader forked from this one has read.
func (d *Documents) take(o *Documents) {
	maps.Copy(d.bodies, o.bodies)
}

// takeTouched are the documents that were touched since it was asked last.
func (d *Documents) takeTouched() []*manifest.Document {
	all := d.touched
	d.touched = nil
	return all
}

// Read reads the documents of a revision. Having completes the set with what was left out and is needed.
func (d *Documents) Read(s *source.Snapshot) (*manifest.Set, error) {
	files := make([]*manifest.File, len(s.Entries))
	var gone, come []*manifest.File
	goes := func(f *manifest.File) {
		if f != nil {
			gone = append(gone, f)
		}
	}
	before := 0
	for n, e := range s.Entries {
		for ; before < len(d.entries) && d.entries[before].Path < e.Path; before++ {
			goes(d.files[before])
		}
		if before < len(d.entries) && d.entries[before].Path == e.Path {
			was := d.files[before]
			same := d.entries[before].Hash == e.Hash
			before++
			if same {
				files[n] = was
				continue
			}
			goes(was)
		}
		if !manifest.IsDocumentFile(e.Path) {
			continue
		}
		f, err := d.read(s, e)
		if err != nil {
			return nil, err
		}
		files[n] = f
		come = append(come, f)
	}
	for ; before < len(d.entries); before++ {
		goes(d.files[before])
	}
	defer s.Rest()
	set := d.set
	if set == nil || len(gone)+len(come) > 0 || set.NamesTexts() {
		texts := map[string]text{}
		var failed error
		set = manifest.Next(d.set, gone, come, func(path string) ([]byte, bool) {
			e, ok := entry(s, path)
			if !ok {
				return nil, false
			}
			t := d.texts[path]
			if t.hash != e.Hash {
				data, err := s.Read(e)
				if err != nil {
					failed = err
				}
				t = text{e.Hash, data}
			}
			texts[path] = t
			return t.data, true
		})
		if failed != nil {
			return nil, failed
		}
		d.texts = texts
	}
	for _, f := range slices.Concat(gone, come) {
		for i := range f.Documents {
			d.touched = append(d.touched, &f.Documents[i])
		}
	}
	d.entries, d.files, d.set = s.Entries, files, set
	return set, nil
}

// read reads one file.
func (d *Documents) read(s *source.Snapshot, e source.Entry) (*manifest.File, error) {
	data, err := s.Read(e)
	if err != nil {
		return nil, err
	}
	f := manifest.Read(e.Path, data)
	if d.host == "" {
		return &f, nil
	}
	lean := f.Lean(d.host, e.Hash, d.aways)
	for i := range lean.Documents {
		if doc := &lean.Documents[i]; doc.Kind == manifest.KindConfig && doc.Lean() && len(d.bodies) < maxBodies {
			d.bodies[doc] = doc.Body(f)
		}
	}
	return lean, nil
}

// Having is a set with the bodies of documents that were left out of it, if there are such documents. The bodies are kept in
// used.
func (d *Documents) having(s *source.Snapshot, set *manifest.Set, kind string, names []string, used map[*manifest.Document]any) (*manifest.Set, error) {
	var bodies []any
	for _, name := range names {
		doc := set.Find(kind, name)
		if doc == nil || !doc.Lean() {
			continue
		}
		body := used[doc]
		if body == nil {
			body = d.bodies[doc]
		}
		if body == nil {
			data, err := s.Read(source.Entry{Path: doc.File, Hash: doc.Version})
			if err != nil {
				return nil, err
			}
			if body = doc.Body(manifest.Read(doc.File, data)); body == nil {
				return nil, fmt.Errorf("cannot find %s again in %s", manifest.Key(kind, name), doc.File)
			}
		}
		used[doc] = body
		bodies = append(bodies, body)
	}
	return set.Having(bodies), nil
}

// Whole is a set with all that is said of a config and of the machines that are of it.
func (d *Documents) Whole(s *source.Snapshot, set *manifest.Set, config string) (*manifest.Set, error) {
	used := map[*manifest.Document]any{}
	whole, err := d.having(s, set, manifest.KindConfig, []string{config}, used)
	if err != nil {
		return nil, err
	}
	var runs []string
	for doc := range set.EachAway {
		if doc.ConfigName() == config {
			runs = append(runs, doc.Name)
		}
	}
	return d.having(s, whole, manifest.KindRunState, runs, used)
}

// entry finds a file of a revision.
func entry(s *source.Snapshot, path string) (source.Entry, bool) {
	n, ok := slices.BinarySearchFunc(s.Entries, path, func(e source.Entry, path string) int { return strings.Compare(e.Path, path) })
	if !ok {
		return source.Entry{}, false
	}
	return s.Entries[n], true
}

// read reads a file of a revision.
func read(s *source.Snapshot, path string) ([]byte, error) {
	e, ok := entry(s, path)
	if !ok {
		return nil, fmt.Errorf("there is no file %s in revision %.12s", path, s.Commit)
	}
	return s.Read(e)
}
