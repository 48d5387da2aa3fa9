package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"github.com/gitvirt/gitvirt/reconcile/plan"
)

const (
	// usageStats is what is asked for: state, CPU, balloon, vCPUs, interfaces and disks (virDomainStatsTypes).
	usageStats = uint32(libvirt.DomainStatsState | libvirt.DomainStatsCPUTotal | libvirt.DomainStatsBalloon |
		libvirt.DomainStatsVCPU | libvirt.DomainStatsInterface | libvirt.DomainStatsBlock)
	// usageBatch is how many domains are asked about in one call. Libvirt asks each QEMU in turn, 2 to 5 ms each, and the
	// call holds a worker and a place of those that ask.
	usageBatch = 20
)

// Usage says what each domain uses, those that are off included, sorted by name. Domains that are known not to answer are left
// out; of one at which somebody has a job, libvirt says what it knows without asking QEMU. A call that gets no answer in time
// costs its batch: the next observation finds out which of its domains it is that does not answer.
func (r *Runner) Usage(ctx context.Context) ([]plan.Usage, error) {
	domains, err := read(ctx, r, func(lv *libvirt.Libvirt) ([]libvirt.Domain, error) {
		domains, _, err := lv.ConnectListAllDomains(1, 0)
		return domains, err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list the domains: %w", err)
	}
	domains = slices.DeleteFunc(domains, func(d libvirt.Domain) bool {
		id := uuid.UUID(d.UUID).String()
		return r.suspects.has(id) || r.calls.stuck(id) || r.calls.unread(id)
	})
	var all []plan.Usage
	var failures []error
	for batch := range slices.Chunk(domains, usageBatch) {
		records, err := read(ctx, r, func(lv *libvirt.Libvirt) ([]libvirt.DomainStatsRecord, error) {
			return lv.ConnectGetAllDomainStats(batch, usageStats, uint32(libvirt.ConnectGetAllDomainsStatsNowait))
		})
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, ErrDisconnected):
			return nil, err
		case err != nil:
			failures = append(failures, err)
			r.suspectAll(batch, err)
			continue
		}
		for _, record := range records {
			all = append(all, usageOf(record))
		}
	}
	if len(all) == 0 && len(failures) > 0 {
		return nil, errors.Join(failures...)
	}
	slices.SortFunc(all, func(a, b plan.Usage) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// suspectAll has all domains of a batch looked at that got no answer.
func (r *Runner) suspectAll(batch []libvirt.Domain, err error) {
	if !errors.Is(err, ErrStuck) {
		return
	}
	for _, d := range batch {
		r.suspects.add(uuid.UUID(d.UUID).String())
	}
	r.wakeUp()
}

// usageOf takes a record apart. What is not a number, and no device's name or path, is left out.
func usageOf(record libvirt.DomainStatsRecord) plan.Usage {
	u := plan.Usage{Name: record.Dom.Name, UUID: uuid.UUID(record.Dom.UUID).String()}
	lists := map[string]*[]plan.DeviceUsage{"block": &u.Disks, "net": &u.Interfaces, "vcpu": &u.VCPUs}
	for _, p := range record.Params {
		to, name := &u.Values, p.Field
		if kind, rest, ok := strings.Cut(p.Field, "."); ok && lists[kind] != nil {
			number, below, isDevice := strings.Cut(rest, ".")
			if n, err := strconv.Atoi(number); isDevice && err == nil && n >= 0 && n < maxUsageDevices {
				d := deviceAt(lists[kind], n)
				if text, ok := p.Value.I.(string); ok {
					switch below {
					case "name":
						d.Name = text
					case "path":
						d.Path = text
					}
					continue
				}
				to, name = &d.Values, below
			}
		}
		if value, ok := unsigned(p.Value.I); ok {
			// The names are the same for each domain and device, and these last until the next time.
			*to = append(*to, plan.UsageValue{Stat: unique.Make(name).Value(), Value: value})
		}
	}
	return u
}

// maxUsageDevices is how many devices of a kind are believed: numbers come from another process.
const maxUsageDevices = 4096

func deviceAt(list *[]plan.DeviceUsage, n int) *plan.DeviceUsage {
	for len(*list) <= n {
		*list = append(*list, plan.DeviceUsage{Name: strconv.Itoa(len(*list))})
	}
	return &(*list)[n]
}

func unsigned(v any) (uint64, bool) {
	switch v := v.(type) {
	case uint64:
		return v, true
	case int64:
		return uint64(max(v, 0)), true
	case uint32:
		return uint64(v), true
	case int32:
		return uint64(max(v, 0)), true
	}
	return 0, false
}
