package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gitvirt/gitvirt/reconcile/status"
)

// downloads are the images that are being fetched, as the status shows them.
func (a *agent) downloads() []status.Download {
	var list []status.Download
	for _, s := range a.runner.Downloads() {
		list = append(list, status.Download{
			Image: s.From.String(), Instances: s.Users, Waiting: s.Waiting, Received: s.Received, Total: s.Total, Seconds: int64(time.Since(s.Began).Seconds()),
		})
	}
	return list
}

// registerImages registers the metrics of images. A scrape waits for no disk.
func (a *agent) registerImages() {
	gauge := func(name, help string, value func() float64) {
		a.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("gitvirt_image_downloads", "Images that are being fetched, or wait for it.", func() float64 { return float64(len(a.runner.Downloads())) })
	gauge("gitvirt_image_cache_bytes", "What the images in the cache take on the disk.", func() float64 { return float64(a.runner.ImageCache().Bytes) })
	gauge("gitvirt_image_cache_limit_bytes", "What they may take; 0 is no bound.", func() float64 { return float64(a.runner.ImageCache().Limit) })
	gauge("gitvirt_image_cache_excess_bytes", "What they take above that, because all of it is in use.", func() float64 { return float64(a.runner.ImageCache().Stuck) })
}
