package render

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubevirt "kubevirt.io/api/core/v1"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// Kubernetes' defaults of probes (documentation of the type Probe, core/v1).
const (
	defaultProbeTimeout   = 1
	defaultProbePeriod    = 10
	defaultProbeSuccesses = 1
	defaultProbeFailures  = 3
)

// DefaultProgress is how long a guest may take to become ready where its template does not say it; Kubernetes gives
// deployments as much (progressDeadlineSeconds).
const DefaultProgress = 10 * time.Minute

// SettledAfter is how long a guest has to run to count as up where nothing can be asked: no probe is declared, and no agent
// of it has ever been heard.
const SettledAfter = 10 * time.Second

// Check is what is asked to find out whether a guest is up.
type Check string

// The checks.
const (
	CheckNone  Check = ""                 // nothing is declared: the agent if there is one, or the time that it has run
	CheckAgent Check = "guest agent ping" // the QEMU guest agent answers
	CheckExec  Check = "exec"             // the guest agent runs a command, which exits with 0
	CheckTCP   Check = "TCP"              // a connection can be opened
	CheckHTTP  Check = "HTTP"             // GET is answered with a status from 200 to 399
)

// Readiness is how to find out whether a guest is up.
type Readiness struct {
	Check Check
	// Host is a name or an address; empty for the guest's own. Port, Path, Scheme (http or https) and Headers are as in a
	// URL.
	Host, Path, Scheme string
	Port               int
	Headers            [][2]string
	// Command is a program in the guest with its arguments.
	Command []string
	// Addresses are the guest's own as far as its template fixes them, with their prefixes taken off.
	Addresses []netip.Addr
	// InitialDelay is the time from the start to the first probe, Period that between two, and Timeout that for an answer.
	InitialDelay, Period, Timeout time.Duration
	// Successes and Failures are how many in a row change what is known.
	Successes, Failures int
	// Progress is how long a run may take to become ready.
	Progress time.Duration
}

// Readiness says how to find out whether the instance's guest is up.
func (i *Instance) Readiness() Readiness {
	p := i.Spec.ReadinessProbe
	r := Readiness{Progress: i.Progress, Addresses: i.addresses()}
	if p == nil {
		r.Period, r.Timeout = defaultProbeTimeout*time.Second, defaultProbeTimeout*time.Second
		r.Successes, r.Failures = defaultProbeSuccesses, defaultProbeFailures
		return r
	}
	r.InitialDelay = time.Duration(p.InitialDelaySeconds) * time.Second
	r.Period, r.Timeout = time.Duration(p.PeriodSeconds)*time.Second, time.Duration(p.TimeoutSeconds)*time.Second
	r.Successes, r.Failures = int(p.SuccessThreshold), int(p.FailureThreshold)
	switch {
	case p.TCPSocket != nil:
		r.Check, r.Host, r.Port = CheckTCP, p.TCPSocket.Host, p.TCPSocket.Port.IntValue()
	case p.HTTPGet != nil:
		h := p.HTTPGet
		r.Check, r.Host, r.Port, r.Path, r.Scheme = CheckHTTP, h.Host, h.Port.IntValue(), h.Path, "http"
		if h.Scheme == corev1.URISchemeHTTPS {
			r.Scheme = "https"
		}
		for _, header := range h.HTTPHeaders {
			r.Headers = append(r.Headers, [2]string{header.Name, header.Value})
		}
	case p.Exec != nil:
		r.Check, r.Command = CheckExec, p.Exec.Command
	default:
		r.Check = CheckAgent
	}
	return r
}

// addresses are those that the template fixes, of the first interface that has any.
func (i *Instance) addresses() []netip.Addr {
	for _, nic := range i.Spec.Domain.Devices.Interfaces {
		var out []netip.Addr
		for _, text := range nic.Addresses {
			if p, err := netip.ParsePrefix(text); err == nil {
				out = append(out, p.Addr())
			} else if a, err := netip.ParseAddr(text); err == nil {
				out = append(out, a)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// progress is how long a run may take to become ready: as long as a startup probe of Kubernetes would let it, where the
// template says how often the probe may fail. Kubernetes' default of three failures is for a guest that was up before, and
// would give it half a minute to boot.
func progress(spec *manifest.InstanceSpec) time.Duration {
	p := spec.ReadinessProbe
	if p == nil || p.FailureThreshold == 0 {
		return DefaultProgress
	}
	period := p.PeriodSeconds
	if period == 0 {
		period = defaultProbePeriod
	}
	return time.Duration(p.InitialDelaySeconds)*time.Second + time.Duration(p.FailureThreshold)*time.Duration(period)*time.Second
}

// fillProbe says what a probe leaves unsaid, as Kubernetes does.
func fillProbe(p *kubevirt.Probe) {
	if p == nil {
		return
	}
	for _, n := range []struct {
		field     *int32
		otherwise int32
	}{
		{&p.TimeoutSeconds, defaultProbeTimeout}, {&p.PeriodSeconds, defaultProbePeriod},
		{&p.SuccessThreshold, defaultProbeSuccesses}, {&p.FailureThreshold, defaultProbeFailures},
	} {
		if *n.field == 0 {
			*n.field = n.otherwise
		}
	}
	if h := p.HTTPGet; h != nil {
		if h.Path == "" {
			h.Path = "/"
		}
		if h.Scheme == "" {
			h.Scheme = corev1.URISchemeHTTP
		}
	}
}
