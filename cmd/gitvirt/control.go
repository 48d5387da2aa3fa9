package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/control"
	"github.com/gitvirt/gitvirt/reconcile/inventory"
	"github.com/gitvirt/gitvirt/reconcile/notice"
	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/reconcile/status"
)

// socketPath is where the socket is; empty for none.
func (s settings) socketPath() string {
	if s.Socket == "" || filepath.IsAbs(s.Socket) {
		return s.Socket
	}
	return filepath.Join(s.StateDir, s.Socket)
}

func (a *agent) listenLocally() (net.Listener, error) {
	path := a.set.socketPath()
	if path == "" {
		return nil, nil
	}
	return control.Listen(path)
}

// serveLocally answers who is on this host: what everybody may read, and requests for a pass.
func (a *agent) serveLocally(ctx context.Context, l net.Listener) {
	a.answer(ctx, l, &http.Server{
		Handler: a.volumes.Handler(control.Handler(a.reconcile, a.server)), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }, // who waits for a pass hears that the agent ends
	})
}

// reconcile asks the repository, and shows how it stands after each pass.
func (a *agent) reconcile(ctx context.Context, show func(control.Answer) bool) error {
	return a.loop.Ask(ctx, func(f status.Facts) bool { return show(standing(f)) })
}

// standing is how it stands after a pass.
func standing(f status.Facts) control.Answer {
	out := control.Answer{Revision: f.Source.Revision, InSync: notice.InSync(f)}
	switch v, known := notice.Judge(f); {
	case f.Source.Error != "":
		out.Error = f.Source.Error
	case !f.Libvirt.Up:
		out.Error = "libvirt does not answer: " + f.Libvirt.Error
	case !known:
		out.Error = "no revision is in force"
	default:
		out.Message, out.Settled = v.Text, v.State != notice.Pending
	}
	if out.Error != "" {
		out.Message = fmt.Sprintf("revision %s is in force", brief(out.Revision))
	}
	return out
}

// view is what an inventory of the host's volumes goes by: the last pass, if it came as far as a plan.
func (a *agent) view() inventory.View {
	f := a.server.Latest().Facts
	return inventory.View{
		Revision: f.Plan.Revision, Broken: len(f.Documents.Problems) > f.Documents.Unread, Assessments: f.Assessments,
	}
}

// listVolumes has the volumes listed after the first plan, and whenever what was to be done is done.
func (a *agent) listVolumes(p plan.Plan) {
	if p.Revision == "" {
		return
	}
	working := hasSteps(p)
	if !working && (a.working || !a.planned) {
		a.volumes.Look()
	}
	a.planned, a.working = true, working
}
