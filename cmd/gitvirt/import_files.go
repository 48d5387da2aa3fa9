package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/source"
)

// newFile is a file that is to be written, by its path below --dir.
type newFile struct {
	name string
	text []byte
}

// repository is what there is where the new documents go.
type repository struct {
	dir       string // where they go; empty for stdout
	below     string // that folder as the documents' files are named, with a slash behind it
	overwrite bool
	set       *manifest.Set
	placement *render.Placement
	// beside are those of the documents that bear on new machines.
	beside *manifest.Set
}

// openRepository reads the documents of the clone that the folder is in, or of the folder alone: the one that is written into,
// or else the one that is only to be looked into.
func openRepository(o importOptions, s settings) (*repository, error) {
	r := &repository{dir: o.dir, overwrite: o.overwrite, set: manifest.Collect(nil, nil), beside: manifest.Collect(nil, nil)}
	r.placement = render.Place(r.set, s.Host)
	if o.dir == "" && o.repoDir == "" {
		return r, nil
	}
	dir, err := filepath.Abs(cmp.Or(o.dir, o.repoDir))
	if err != nil {
		return nil, fmt.Errorf("cannot find %s: %w", cmp.Or(o.dir, o.repoDir), err)
	}
	if o.dir != "" {
		r.dir = dir
	}
	root := documentsRoot(dir, s.Path)
	if rel, err := filepath.Rel(root, dir); err == nil && rel != "." {
		r.below = filepath.ToSlash(rel) + "/"
	}
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) && o.dir != "" {
		return r, nil
	}
	snapshot, err := source.Folder(root)
	if err != nil {
		return nil, err
	}
	if r.set, err = reconcile.NewDocuments("").Read(snapshot); err != nil {
		return nil, err
	}
	r.placement = render.Place(r.set, s.Host)
	var files []manifest.File
	for _, e := range snapshot.Entries {
		if !manifest.IsDocumentFile(e.Path) || !r.bears(e.Path) {
			continue
		}
		text, err := snapshot.Read(e)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", e.Path, err)
		}
		files = append(files, manifest.Read(e.Path, text))
	}
	r.beside = manifest.Collect(files, r.set.Text)
	return r, nil
}

// documentsRoot is the folder with all documents: in the clone that a folder is in, or the folder itself.
func documentsRoot(dir, path string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			root := filepath.Join(at, path)
			if dir == root || strings.HasPrefix(dir, root+string(filepath.Separator)) {
				return root
			}
			return dir
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// bears says whether a file has a document that says something of machines which it does not name.
func (r *repository) bears(file string) bool {
	for _, h := range r.set.Hosts {
		if h.At.File == file {
			return true
		}
	}
	for _, p := range r.set.Presets {
		if p.At.File == file && p.Spec.Selector != nil {
			return true
		}
	}
	return false
}

// replaces says whether a file is one that is to be replaced.
func (r *repository) replaces(file string) bool {
	name, ok := strings.CutPrefix(file, r.below)
	return ok && r.dir != "" && r.overwrite && (path.Dir(name) == "networks" || path.Dir(name) == "pools")
}

// mayWrite says why a file cannot be written.
func (r *repository) mayWrite(name string) error {
	if r.dir == "" || r.overwrite {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
		return fmt.Errorf("there is a file %s already: say --overwrite to replace it", filepath.Join(r.dir, name))
	}
	return nil
}

// machine is the document that a machine's name is taken by, but for those in the file that is replaced; empty for none.
func (r *repository) machine(name, file string) string {
	for _, kind := range []string{manifest.KindConfig, manifest.KindRunState} {
		if d := r.set.Find(kind, name); d != nil && (r.dir == "" || d.File != r.below+file) {
			return fmt.Sprintf("the %s in %s", d.Written, d.File)
		}
	}
	if m, ok := r.placement.Find(name); ok && m.Group != nil {
		return "a member of the group " + m.Group.Metadata.Name
	}
	return ""
}

// write writes the files, or prints them.
func (i *importing) write(out io.Writer) error {
	if i.there.dir == "" {
		texts := make([][]byte, len(i.files))
		for n, f := range i.files {
			texts[n] = f.text
		}
		_, err := out.Write(bytes.Join(texts, []byte("---\n")))
		return err
	}
	var names []string
	for _, f := range i.files {
		file := filepath.Join(i.there.dir, f.name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("cannot make a folder for the documents: %w", err)
		}
		if err := renameio.WriteFile(file, f.text, 0o644, renameio.WithTempDir(filepath.Dir(file))); err != nil {
			return fmt.Errorf("cannot write %s: %w", file, err)
		}
		names = append(names, f.name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintln(out, filepath.Join(i.options.dir, name))
	}
	return nil
}
