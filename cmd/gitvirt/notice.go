package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/gitvirt/gitvirt/reconcile"
	"github.com/gitvirt/gitvirt/reconcile/notice"
	"github.com/gitvirt/gitvirt/reconcile/notice/sender"
	"github.com/gitvirt/gitvirt/reconcile/status"
)

// flushTime is how long an agent that makes one pass goes on trying to tell of it.
const flushTime = 20 * time.Second

// newSender is what tells others; nil when the file names nobody.
func (a *agent) newSender() (*sender.Sender, error) {
	if len(a.set.Notices) == 0 {
		return nil, nil
	}
	o := sender.Options{
		Host: a.set.Host, Fleet: a.set.Fleet, Branch: a.set.Branch, Version: version(),
		StateFile: filepath.Join(a.set.StateDir, "notices.json"), BackOff: reconcile.BackOff, Logger: a.log, Registerer: a.registry,
	}
	if a.set.Ref.TagPattern != "" {
		o.Branch = "" // it follows none
	}
	for _, n := range a.set.Notices {
		o.Targets = append(o.Targets, n.target())
	}
	return sender.New(o)
}

// publish shows what a pass found, and has others told.
func (a *agent) publish(f status.Facts) {
	a.server.Publish(f)
	a.listVolumes(f.Plan)
	if a.sender == nil {
		return
	}
	news := sender.News{Time: f.Now}
	news.Verdict, news.Known = notice.Judge(f)
	if news.Known = news.Known && f.Documents.Unread == 0; news.Known { // else it will be known soon
		news.Instances = notice.Instances(a.server.Latest())
	}
	if v, ok := notice.Refused(f); ok {
		news.Refused = &v
	}
	a.sender.Publish(news)
}

// flush tells others before the agent ends.
func (a *agent) flush(ctx context.Context) {
	if a.sender == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	a.sender.Flush(ctx)
}
