package status

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

// volumesSource is what a server asks for the volumes that were listed last; it answers at once.
type volumesSource func() []plan.Stored

func (f volumesSource) list() []plan.Stored {
	if f == nil {
		return nil
	}
	return f()
}

// serve answers with the volumes; with ?orphans=true only with those that nobody uses or wants any more.
func (f volumesSource) serve(w http.ResponseWriter, r *http.Request) {
	only := r.URL.Query().Get("orphans") == "true"
	list(w, "VolumeList", func(yield func(plan.Stored) bool) {
		for _, v := range f.list() {
			if (v.Orphaned || !only) && !yield(v) {
				return
			}
		}
	})
}

// register registers the metrics of orphans, which are read off the last list.
func (f volumesSource) register(registry *prometheus.Registry) {
	if f == nil {
		return
	}
	gauge := func(name, help string, of func(plan.Stored) float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			sum := 0.0
			for _, v := range f.list() {
				if v.Orphaned {
					sum += of(v)
				}
			}
			return sum
		}))
	}
	gauge("gitvirt_volumes_orphaned", "Volumes that gitvirt made and that nobody uses or wants any more.", func(plan.Stored) float64 { return 1 })
	gauge("gitvirt_volumes_orphaned_bytes", "What the orphaned volumes take on the host.", func(v plan.Stored) float64 { return float64(v.Allocation) })
}
