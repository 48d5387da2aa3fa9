package stats

import "github.com/prometheus/client_golang/prometheus"

// scope is what a value is of.
type scope int

const (
	ofDomain scope = iota
	ofDisk
	ofInterface
	ofVCPU
	scopes // how many there are
)

// row is one series: libvirt's name of a value, and what it is shown as.
type row struct {
	of         scope
	stat, name string
	help       string
	kind       prometheus.ValueType
	scale      float64
}

const (
	kib  = 1024 // libvirt's unit of memory
	nano = 1e-9 // libvirt's unit of time, in seconds
)

// table is all series. Their names and labels are those that dashboards for the common libvirt exporters ask for
// (kumina's, and those that came from it).
func table() []row {
	count, gauge := prometheus.CounterValue, prometheus.GaugeValue
	rows := []row{
		{ofDomain, "state.state", "info_vstate", "State of the domain: 1 running, 2 blocked, 3 paused, 4 going down, 5 off, 6 crashed, 7 suspended.", gauge, 1},
		{ofDomain, "balloon.maximum", "info_maximum_memory_bytes", "Memory that the domain may have.", gauge, kib},
		{ofDomain, "balloon.current", "info_memory_usage_bytes", "Memory that the domain has.", gauge, kib},
		{ofDomain, "vcpu.current", "info_virtual_cpus", "vCPUs that the domain has.", gauge, 1},
		{ofDomain, "cpu.time", "info_cpu_time_seconds_total", "CPU time that the domain has used.", count, nano},

		{ofDomain, "balloon.current", "memory_stats_actual_balloon_bytes", "Memory that the balloon leaves to the guest.", gauge, kib},
		{ofDomain, "balloon.available", "memory_stats_available_bytes", "Memory that the guest sees.", gauge, kib},
		{ofDomain, "balloon.usable", "memory_stats_usable_bytes", "Memory that the guest could use without swapping.", gauge, kib},
		{ofDomain, "balloon.unused", "memory_stats_unused_bytes", "Memory that the guest uses for nothing.", gauge, kib},
		{ofDomain, "balloon.disk_caches", "memory_stats_disk_cache_bytes", "Memory that the guest caches disks with.", gauge, kib},
		{ofDomain, "balloon.rss", "memory_stats_rss_bytes", "Memory of the host that the domain's process has.", gauge, kib},
		{ofDomain, "balloon.major_fault", "memory_stats_major_fault_total", "Page faults of the guest that read a disk.", count, 1},
		{ofDomain, "balloon.minor_fault", "memory_stats_minor_fault_total", "Page faults of the guest that did not.", count, 1},
		{ofDomain, "balloon.swap_in", "memory_stats_swap_in_bytes_total", "Memory that the guest has read from swap.", count, kib},
		{ofDomain, "balloon.swap_out", "memory_stats_swap_out_bytes_total", "Memory that the guest has written to swap.", count, kib},

		{ofVCPU, "state", "vcpu_state", "State of the vCPU: 0 off, 1 running, 2 blocked.", gauge, 1},
		{ofVCPU, "time", "vcpu_time_seconds_total", "CPU time that the vCPU has used.", count, nano},
		{ofVCPU, "wait", "vcpu_wait_seconds_total", "Time that the vCPU has waited for what the guest does.", count, nano},
		{ofVCPU, "delay", "vcpu_delay_seconds_total", "Time that the vCPU has waited for one of the host's.", count, nano},

		{ofDisk, "rd.bytes", "block_stats_read_bytes_total", "Bytes that the guest has read.", count, 1},
		{ofDisk, "rd.reqs", "block_stats_read_requests_total", "Reads of the guest.", count, 1},
		{ofDisk, "rd.times", "block_stats_read_time_seconds_total", "Time that reads have taken.", count, nano},
		{ofDisk, "wr.bytes", "block_stats_write_bytes_total", "Bytes that the guest has written.", count, 1},
		{ofDisk, "wr.reqs", "block_stats_write_requests_total", "Writes of the guest.", count, 1},
		{ofDisk, "wr.times", "block_stats_write_time_seconds_total", "Time that writes have taken.", count, nano},
		{ofDisk, "fl.reqs", "block_stats_flush_requests_total", "Flushes of the guest.", count, 1},
		{ofDisk, "fl.times", "block_stats_flush_time_seconds_total", "Time that flushes have taken.", count, nano},
		{ofDisk, "allocation", "block_stats_allocation", "Offset of the highest byte that was written.", gauge, 1},
		{ofDisk, "capacity", "block_stats_capacity_bytes", "Size that the guest sees.", gauge, 1},
		{ofDisk, "physical", "block_stats_physicalsize_bytes", "Size of the file or device on the host.", gauge, 1},
	}
	for _, way := range [][3]string{{"rx", "receive", "to the guest"}, {"tx", "transmit", "from the guest"}} {
		for _, what := range [][3]string{{"bytes", "bytes", "Bytes"}, {"pkts", "packets", "Packets"}, {"errs", "errors", "Packets with errors"}, {"drop", "drops", "Dropped packets"}} {
			rows = append(rows, row{ofInterface, way[0] + "." + what[0], "interface_stats_" + way[1] + "_" + what[1] + "_total",
				what[2] + " on the way " + way[2] + ".", count, 1})
		}
	}
	return rows
}

// labels are those of each scope.
func (s scope) labels() []string {
	return [scopes][]string{{"domain"}, {"domain", "source_file", "target_device"}, {"domain", "target_device"}, {"domain", "vcpu"}}[s]
}
