package download

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gitvirt/gitvirt/runner/image"
)

// Job is one fetch, as its source sees it.
type Job struct {
	// To is the file's place. A source may keep what it needs for another try beside it.
	To string
	// Pinned is what the file was when it was first fetched here: nothing else will do. It is empty at first.
	Pinned string

	from     Origin
	key      string
	fetcher  *Fetcher
	progress *progress
}

// Judged is the error that the source had when it last held what key tells, nil when it had none. An unusable source is
// remembered by the key.
func (j *Job) Judged(key string) error {
	j.key = key
	return j.fetcher.judged(j.from, j.To, key)
}

// Transport is the way to servers: it counts what comes, keeps to the bandwidth, and goes where it may.
func (j *Job) Transport() http.RoundTripper { return &way{fetcher: j.fetcher, progress: j.progress} }

// Expect says how many bytes are to be received, of which some are here already.
func (j *Job) Expect(total, here int64) {
	j.progress.total.Store(total)
	j.progress.received.Store(here)
	j.fetcher.opts.Room(max(0, total-here))
}

// Worked tells of progress that is neither receiving nor writing.
func (j *Job) Worked(n int64) { j.progress.worked.Add(n) }

// Received tells of bytes that came by another way than Transport.
func (j *Job) Received(n int64) { j.progress.received.Add(n) }

// Limit is how many bytes a file may have.
func (j *Job) Limit() int64 { return j.fetcher.opts.Limit }

// MakeFolder makes the folder of the file. What a killed fetch left in it goes.
func (j *Job) MakeFolder() error { return makeFolder(filepath.Dir(j.To)) }

// Write writes a temporary file beside the file's place, with holes where there are zeroes: size bytes of content, or all
// that there are when size is negative.
func (j *Job) Write(ctx context.Context, content io.Reader, size int64) (*image.Temp, error) {
	if size > j.Limit() {
		return nil, unusable("the file has %d bytes, and %d may be fetched", size, j.Limit())
	}
	tmp, err := image.CreateTemp(filepath.Dir(j.To))
	if err != nil {
		return nil, err
	}
	if _, err := j.Copy(ctx, tmp.File, 0, content, size); err != nil {
		tmp.Discard()
		return nil, err
	}
	return tmp, nil
}

// Copy writes content to a file from a place on, as Write does, and says how long the file is to be now; that is how long it
// is when there is no error. What was written before an error is there, but for zeroes at its end.
func (j *Job) Copy(ctx context.Context, f *os.File, at int64, content io.Reader, size int64) (end int64, err error) {
	w := writer{ctx: ctx, p: j.progress, file: f, limit: j.Limit(), reserve: j.fetcher.opts.Reserve}
	return w.write(content, at, size)
}

// Grow runs something that writes a temporary file, and ends it when the disk is nearly full or the file too large. What can
// be told of its progress is that the file grows.
func (j *Job) Grow(ctx context.Context, file *image.Temp, work func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := writer{file: file.File, limit: j.Limit(), reserve: j.fetcher.opts.Reserve}
	if err := w.checkSpace(); err != nil {
		return err
	}
	j.progress.syncing.Store(true)
	defer j.progress.syncing.Store(false)
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := int64(0)
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
		}
		info, err := file.File.Stat()
		if err == nil && info.Size() > w.limit {
			err = unusable("the file has more than %d bytes, which is all that may be fetched", w.limit)
		} else if err == nil {
			j.progress.worked.Add(max(0, info.Size()-last))
			last = info.Size()
			err = w.checkSpace()
		}
		if err != nil {
			cancel(err)
		}
	}
}

// lookEvery is how often a file is looked at that another process writes.
const lookEvery = 200 * time.Millisecond
