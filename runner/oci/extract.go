package oci

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gitvirt/gitvirt/runner/download"
	"github.com/gitvirt/gitvirt/runner/image"
)

// extract writes a file of an image. The layers are read from the top down, each to its end, where its digest is checked;
// the first file that can be the one is written on the way, so that it need not be fetched twice. Only where links lead
// to another, its layer is read again.
func extract(ctx context.Context, img v1.Image, file string, j *download.Job) (_ *image.Temp, err error) {
	layers, err := img.Layers()
	if err != nil {
		return nil, unusable("cannot read its manifest: %w", err)
	}
	s := scan{ctx: ctx, job: j, tree: newTree(), file: clean(file)}
	defer func() {
		if err != nil && s.tmp != nil {
			s.tmp.Discard()
		}
	}()
	for n := range layers {
		if err := s.read(layers[len(layers)-1-n], n, s.candidate); err != nil {
			return nil, err
		}
		if e, there := s.tree.entries[s.file]; file != "" && there && e.regular() {
			break // whatever is below, it is not seen
		}
	}
	find := s.tree.onlyDisk
	if file != "" {
		find = func() (entry, error) { return s.tree.find(s.file) }
	}
	e, err := find()
	if err != nil {
		return nil, err
	}
	if s.tmp == nil || s.has.layer != e.layer || s.has.name != e.name {
		s.tree = newTree()
		err := s.read(layers[len(layers)-1-e.layer], e.layer, func(name string) bool { return name == e.name })
		if err != nil {
			return nil, err
		}
	}
	if s.tmp == nil {
		return nil, unusable("the image has no content for %s", e.name)
	}
	if s.size == 0 {
		return nil, unusable("the file /%s of the image is empty", e.name)
	}
	return s.tmp, nil
}

// scan reads layers, and keeps the content of one file.
type scan struct {
	ctx   context.Context
	job   *download.Job
	tree  *tree
	file  string // the one that is wanted; empty for a disk
	count int
	tmp   *image.Temp
	size  int64
	has   struct { // what tmp is of
		layer int
		name  string
	}
}

// candidate says whether a file may be the one that is wanted, as far as can be told before all layers have been read.
func (s *scan) candidate(name string) bool {
	if s.file != "" {
		return name == s.file
	}
	return strings.HasPrefix(name, disks+"/") && (s.tmp == nil || s.has.name == name)
}

// read reads a layer to its end.
func (s *scan) read(from v1.Layer, number int, keep func(name string) bool) (err error) {
	stream, err := from.Uncompressed()
	if err != nil {
		return fmt.Errorf("cannot read a layer: %w", err)
	}
	defer stream.Close()
	l := &layer{number: number, entries: map[string]entry{}}
	archive := tar.NewReader(stream)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("cannot read a layer: %w", err)
		}
		if s.count++; s.count > maxEntries {
			return unusable("the image has more than %d files", maxEntries)
		}
		l.add(h)
		name := clean(h.Name)
		if e := l.entries[name]; !e.regular() || e.name != name || !keep(name) || s.tree.hides(name) {
			continue
		}
		if err := s.keep(archive, h.Size, number, name); err != nil {
			return err
		}
	}
	// The digest is checked at the end of the stream, which is behind that of the archive.
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return fmt.Errorf("cannot read a layer: %w", err)
	}
	s.tree.under(l)
	return nil
}

// keep writes a file's content in place of what was kept before.
func (s *scan) keep(content io.Reader, size int64, layer int, name string) error {
	if s.tmp != nil {
		s.tmp.Discard()
		s.tmp = nil
	}
	tmp, err := s.job.Write(s.ctx, content, size)
	if err != nil {
		return err
	}
	s.tmp, s.size, s.has.layer, s.has.name = tmp, size, layer, name
	return nil
}

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", image.ErrUnusable, fmt.Errorf(format, args...))
}
