package manifest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// walk is revisions of a repository one after the other, read as an agent reads them: what has not changed is taken over.
type walk struct {
	t     *testing.T
	lean  bool
	data  map[string][]byte // of the last revision
	files map[string]*File
	set   *Set
	aways map[Away]*Away
}

func (w *walk) next(data map[string][]byte) *Set {
	var gone, come []*File
	files := map[string]*File{}
	for name, f := range w.files {
		if now, ok := data[name]; ok && bytes.Equal(now, w.data[name]) {
			files[name] = f
		} else {
			gone = append(gone, f)
		}
	}
	for name, text := range data {
		if files[name] != nil || !IsDocumentFile(name) {
			continue
		}
		f := Read(name, text)
		files[name] = &f
		if w.lean {
			files[name] = f.Lean("kvm0", string(text), w.aways)
		}
		come = append(come, files[name])
	}
	w.set = Next(w.set, gone, come, func(path string) ([]byte, bool) { text, ok := data[path]; return text, ok })
	w.data, w.files = data, files
	return w.set
}

// whole is the set with what was left out.
func (w *walk) whole(s *Set) *Set {
	w.t.Helper()
	var bodies []any
	for _, kind := range []string{KindConfig, KindRunState} {
		for _, d := range s.Documents(kind) {
			if !d.Lean() {
				continue
			}
			body := d.Body(Read(d.File, []byte(d.Version)))
			if body == nil {
				w.t.Fatalf("%s of %s is not found again", d.Name, d.File)
			}
			bodies = append(bodies, body)
		}
	}
	return s.Having(bodies)
}

// TestNextIsCollect: the set of a revision is the same whether it is made of that before or of all files, and whether documents
// of other hosts are kept or read again; and so is the set in which an earlier one stands in for what is broken.
func TestNextIsCollect(t *testing.T) {
	broken, twins := 0, 0
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		full, lean := &walk{t: t}, &walk{t: t, lean: true, aways: map[Away]*Away{}}
		repo := random(r)
		var good, leanGood *Set
		for step := range 25 {
			spoilt := map[int]corruption{}
			for i := range repo.documents {
				switch r.IntN(12) {
				case 0:
					repo.documents[i].value += 1000
				case 1:
					repo.documents[i].file = fmt.Sprintf("dir/%d.yaml", r.IntN(4))
				case 2:
					spoilt[i] = corruptions()[r.IntN(len(corruptions()))]
				}
			}
			switch r.IntN(6) {
			case 0:
				n := r.IntN(len(repo.documents) + 1)
				repo.documents = slices.Concat(repo.documents[:n], random(r).documents, repo.documents[n:])
			case 1:
				repo.documents = slices.Delete(repo.documents, r.IntN(len(repo.documents)+1), len(repo.documents))
			case 2:
				repo.texts["b.xml"] = fmt.Sprintf("<domain>%d</domain>", step)
			case 3:
				delete(repo.texts, "b.xml")
			}
			archive := repo.files(func(i int) (string, string) {
				if c, ok := spoilt[i]; ok {
					return c.spoil(r, repo, repo.documents[i])
				}
				return repo.documents[i].file, repo.documents[i].String()
			})
			data := map[string][]byte{}
			var files []File
			for _, f := range archive {
				data[f.Name] = f.Data
				if IsDocumentFile(f.Name) {
					files = append(files, Read(f.Name, f.Data))
				}
			}
			want := Collect(files, func(path string) ([]byte, bool) { text, ok := data[path]; return text, ok })
			got, kept := full.next(data), lean.next(data)
			at := fmt.Sprintf("seed %d, step %d", seed, step)
			sameSet(t, at, want, got)
			sameSet(t, at+", lean", want, lean.whole(kept))
			if len(want.Problems) > 0 {
				broken++
				if len(want.index.twins) > 0 {
					twins++
				}
				if good != nil {
					sameSet(t, at+", mended", want.Mend(good), lean.whole(kept.Mend(leanGood)))
				}
				continue
			}
			good, leanGood = want, kept
		}
	}
	if broken < 200 || twins < 80 {
		t.Errorf("%d revisions were broken, %d by duplicates", broken, twins)
	}
}

func sameSet(t *testing.T, at string, want, got *Set) {
	t.Helper()
	if diff := cmp.Diff(show(want), show(got)); diff != "" {
		t.Fatalf("%s: (-want +got)\n%s", at, diff)
	}
	if diff := cmp.Diff(contents(want), contents(got)); diff != "" {
		t.Fatalf("%s: (-want +got)\n%s", at, diff)
	}
}
