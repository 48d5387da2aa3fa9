package runner

import (
	"cmp"
	"log/slog"
	"time"
)

// Options say which libvirt a runner works with, and how. All but URI may be left out.
type Options struct {
	// URI is libvirt's, of a daemon on this host: qemu:///system, qemu:///session, test:///default, and with a socket
	// of its own qemu+unix:///session?socket=/run/user/1000/libvirt/libvirt-sock.
	URI string
	// Logger is slog.Default() when it is left out.
	Logger *slog.Logger
	// Deadlines are libvirt's time to answer.
	Deadlines Deadlines

	// ConfigDir is where libvirt keeps the inactive XML of its domains as NAME.xml (/etc/libvirt/qemu), and StateDir
	// where it keeps the status of those that run (/run/libvirt/qemu). They are known for qemu:///system and
	// qemu:///session without a socket of its own. Where they are not, all XML is read at each observation.
	ConfigDir, StateDir string
	// RereadInterval is how old an observation may get that libvirt's files and events say still holds.
	RereadInterval time.Duration

	// QemuImg is the program that makes images; qemu-img of the PATH when it is left out.
	QemuImg string
	// CacheDir is where the host keeps what is brought and made for its machines, as render.Options has it.
	CacheDir string
	// LedgerFile is where is noted what storage cannot note itself; it is forgotten with the runner when it is left out.
	LedgerFile string
	// ARPTable is the file with the table of the host's neighbours; /proc/net/arp when it is left out.
	ARPTable string
	// Images say how images are fetched and kept.
	Images Images
	// Secrets knows the values of the tokens in steps. Without it passwords are as libvirt has them.
	Secrets Secrets
}

// Images say how images are fetched and kept. All may be left out.
type Images struct {
	// CacheDir is the folder that they are fetched to; CacheSize is how many bytes they may take there, without a bound when it
	// is 0. One that is in use is kept even so.
	CacheDir  string
	CacheSize int64
	// AtOnce is how many are fetched at once, and Bandwidth how many bytes a second are taken for all of them; see
	// download.Options.
	AtOnce    int
	Bandwidth int64
	// Named says whether the host's administrator names a place that servers may redirect to; see download.Options.
	Named func(place string) bool
}

// Deadlines bound calls to libvirt. A slow answer is not a dead one, and a call that is given up on still keeps one
// of libvirt's workers, so they are generous.
type Deadlines struct {
	// Connect is for connecting, authenticating, and opening the hypervisor's driver.
	Connect time.Duration
	// Read is for a call that asks.
	Read time.Duration
	// Change is for a call that changes, other than those of Start. Destroying a frozen QEMU takes libvirt 11 s.
	Change time.Duration
	// Start is for starting and defining: libvirt may have to ask QEMU for its capabilities again, which can take
	// 40 s. It is for making a domain's images too.
	Start time.Duration
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Deadlines.Connect = cmp.Or(o.Deadlines.Connect, 10*time.Second)
	o.Deadlines.Read = cmp.Or(o.Deadlines.Read, 10*time.Second)
	o.Deadlines.Change = cmp.Or(o.Deadlines.Change, time.Minute)
	o.Deadlines.Start = cmp.Or(o.Deadlines.Start, 5*time.Minute)
	o.RereadInterval = cmp.Or(o.RereadInterval, 10*time.Minute)
	return o
}
