package policy_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/render/domxml"
)

func rules(found []policy.Refusal) []string {
	var all []string
	for _, r := range found {
		if !slices.Contains(all, r.Rule) {
			all = append(all, r.Rule)
		}
	}
	return all
}

func TestCeilingsOfAMachine(t *testing.T) {
	limited := policy.Default()
	limited.VM = policy.Limits{CPUs: 4, Memory: 4 << 30, Disk: 10 << 30}
	tests := map[string]struct {
		spec string
		want []string
	}{
		"at the ceilings": {"domain: {cpu: {cores: 4}, memory: {guest: 4Gi}, devices: {disks: [{name: a}]}}\nvolumes: [{name: a, volume: {size: 10Gi}}]\n", nil},
		"vCPUs":           {"domain: {cpu: {cores: 5}, memory: {guest: 1Gi}}\n", []string{"vm-cpus"}},
		"vCPUs at most":   {"domain: {cpu: {sockets: 1, maxSockets: 8}, memory: {guest: 1Gi}}\n", []string{"vm-cpus"}},
		"memory":          {"domain: {memory: {guest: 5Gi}}\n", []string{"vm-memory"}},
		"memory at most":  {"domain: {memory: {guest: 1Gi, maxGuest: 5Gi}}\n", []string{"vm-memory"}},
		"disks together":  {"domain: {memory: {guest: 1Gi}, devices: {disks: [{name: a}, {name: b}]}}\nvolumes: [{name: a, volume: {size: 6Gi}}, {name: b, emptyDisk: {capacity: 6Gi}}]\n", []string{"vm-disk"}},
		"a disk as large as its image": {"domain: {memory: {guest: 1Gi}, devices: {disks: [{name: a}]}}\nvolumes: [{name: a, volume: {image: {path: /var/lib/libvirt/images/a.qcow2}}}]\n",
			[]string{"vm-disk"}},
		"vCPUs in XML":      {plainSpec + "domainXML: <domain><vcpu>64</vcpu></domain>\n", []string{"vm-cpus"}},
		"a giant number":    {plainSpec + "domainXML: <domain><vcpu>99999999999999999999999</vcpu></domain>\n", []string{"vm-cpus"}},
		"a negative number": {plainSpec + "domainXML: <domain><vcpu>-1</vcpu></domain>\n", []string{"vm-cpus"}},
		"topology":          {plainSpec + "domainXML: <domain><cpu><topology sockets='2147483648' cores='2147483648' threads='4'/></cpu></domain>\n", []string{"vm-cpus"}},
		"IO threads":        {plainSpec + "domainXML: <domain><iothreads>1000</iothreads></domain>\n", []string{"vm-cpus"}},
		"memory in XML":     {plainSpec + "domainXML: <domain><memory unit='TiB'>1</memory></domain>\n", []string{"vm-memory"}},
		"a unit of no kind": {plainSpec + "domainXML: <domain><memory unit='parsec'>1</memory></domain>\n", []string{"vm-memory"}},
		"overflow":          {plainSpec + "domainXML: <domain><memory unit='EiB'>9000000000</memory></domain>\n", []string{"vm-memory"}},
		"maxMemory":         {plainSpec + "domainXML: <domain><maxMemory slots='2' unit='GiB'>64</maxMemory></domain>\n", []string{"vm-memory"}},
		"currentMemory":     {plainSpec + "domainXML: <domain><currentMemory unit='GiB'>64</currentMemory></domain>\n", []string{"vm-memory"}},
		"cells":             {plainSpec + "domainXML: <domain><cpu><numa><cell id='0' cpus='0' memory='64' unit='GiB'/></numa></cpu></domain>\n", []string{"vm-memory"}},
		"a memory module":   {plainSpec + "domainXML: <domain><devices><memory model='dimm'><target><size unit='GiB'>64</size><node>0</node></target></memory></devices></domain>\n", []string{"vm-memory"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			i := machine(t, tt.spec)
			if got := rules(policy.Check(limited, i, files).Refusals); !slices.Equal(got, tt.want) {
				t.Errorf("broken: %v, want %v", got, tt.want)
			}
			if got := policy.Check(policy.Default(), i, files).Refusals; len(got) > 0 {
				t.Errorf("without ceilings: %v", got)
			}
		})
	}
}

func TestNamesImagesAndProbes(t *testing.T) {
	const disk = "domain: {memory: {guest: 1Gi}, devices: {disks: [{name: a}]}}\nvolumes: [{name: a, "
	const nic = "domain: {memory: {guest: 1Gi}, devices: {interfaces: [{name: a}]}}\nnetworks: [{name: a, "
	probe := func(host string) string {
		return "domain: {memory: {guest: 1Gi}}\nreadinessProbe: {httpGet: {port: 80, host: \"" + host + "\"}}\n"
	}
	at := func(url string) string {
		return "volume: {image: {url: \"" + url + "\", sha256: " + strings.Repeat("a", 64) + "}"
	}
	tests := map[string]struct {
		spec   string
		policy func(*policy.Policy)
		want   string
	}{
		"a pool that is not listed":     {disk + "volume: {pool: other, size: 1Gi}}]\n", func(p *policy.Policy) { p.Pools = []string{"default"} }, "pool"},
		"no pool at all":                {disk + "volume: {size: 1Gi}}]\n", func(p *policy.Policy) { p.Pools = nil }, "pool"},
		"a pool that is":                {disk + "volume: {pool: fast-1, size: 1Gi}}]\n", func(p *policy.Policy) { p.Pools = []string{"fast-*"} }, ""},
		"a network that is not listed":  {nic + "libvirt: {network: management}}]\n", func(p *policy.Policy) { p.Networks = []string{"default"} }, "network"},
		"a network that is":             {nic + "libvirt: {network: tenant-a}}]\n", func(p *policy.Policy) { p.Networks = []string{"tenant-*"} }, ""},
		"the user network":              {nic + "user: {}}]\n", nil, ""},
		"no user network":               {nic + "user: {}}]\n", func(p *policy.Policy) { p.NoUserNetwork = true }, "interface"},
		"a bridge that is listed":       {nic + "bridge: br7}]\n", func(p *policy.Policy) { p.Bridges = []string{"br[0-9]"} }, ""},
		"any registry":                  {disk + "containerDisk: {image: \"registry.example.org/a/b:v1\"}}]\n", nil, ""},
		"a registry of this host":       {disk + "containerDisk: {image: \"localhost:5000/a\"}}]\n", nil, "image"},
		"the loopback":                  {disk + "containerDisk: {image: \"127.1.2.3:5000/a\"}}]\n", nil, "image"},
		"the loopback in short":         {disk + "containerDisk: {image: \"127.1/a\"}}]\n", nil, "image"},
		"metadata":                      {disk + "containerDisk: {image: \"169.254.169.254/a\"}}]\n", nil, "image"},
		"metadata by name":              {disk + "containerDisk: {image: \"metadata.google.internal/a\"}}]\n", nil, "image"},
		"a registry that is named":      {disk + "containerDisk: {image: \"localhost:5000/a\"}}]\n", func(p *policy.Policy) { p.Images = []string{"localhost:5000"} }, ""},
		"another one":                   {disk + "containerDisk: {image: \"registry.example.org/a\"}}]\n", func(p *policy.Policy) { p.Images = []string{"registry.example.com"} }, "image"},
		"a repository":                  {disk + "containerDisk: {image: \"registry.example.org/team/a:v1\"}}]\n", func(p *policy.Policy) { p.Images = []string{"registry.example.org/team"} }, ""},
		"a repository of a longer name": {disk + "containerDisk: {image: \"registry.example.org/team-b/a:v1\"}}]\n", func(p *policy.Policy) { p.Images = []string{"registry.example.org/team"} }, "image"},
		"any server":                    {disk + at("https://files.example.org/disk.qcow2") + "}}]\n", nil, ""},
		"a server of this host":         {disk + at("http://localhost:8080/disk.qcow2") + "}}]\n", nil, "image"},
		"metadata by a URL":             {disk + at("http://169.254.169.254/latest/meta-data") + "}}]\n", nil, "image"},
		"a server that is named":        {disk + at("http://127.0.0.1:8080/disk.qcow2") + "}}]\n", func(p *policy.Policy) { p.Images = []string{"127.0.0.1:*"} }, ""},
		"a folder of a server":          {disk + at("https://files.example.org/images/a/disk.qcow2?x=y") + "}}]\n", func(p *policy.Policy) { p.Images = []string{"files.example.org/images/"} }, ""},
		"another folder of it":          {disk + at("https://files.example.org/images-old/disk.qcow2") + "}}]\n", func(p *policy.Policy) { p.Images = []string{"files.example.org/images"} }, "image"},
		"capitals in a server's name":   {disk + at("https://FILES.example.org/images/disk.qcow2") + "}}]\n", func(p *policy.Policy) { p.Images = []string{"files.example.org/images"} }, ""},
		"a file of the host":            {disk + at("file:///etc/shadow") + "}}]\n", nil, "image"},
		"a file that is allowed":        {disk + at("file:///allowed/disk.vmdk") + "}}]\n", func(p *policy.Policy) { p.HostPaths = []string{"/allowed"} }, ""},
		"a file of images":              {disk + at("file:///var/lib/libvirt/images/disk.vmdk") + "}}]\n", nil, ""},
		"checksums elsewhere":           {disk + "volume: {image: {url: \"https://files.example.org/d\", checksums: \"http://localhost/s\"}}}]\n", nil, "image"},
		"an image elsewhere":            {disk + "volume: {image: {path: /etc/shadow, format: raw}}}]\n", nil, "image"},
		"a probe of the guest":          {"domain: {memory: {guest: 1Gi}}\nreadinessProbe: {tcpSocket: {port: 22}}\n", nil, ""},
		"a probe of a network":          {probe("10.1.2.3"), nil, ""},
		"a probe of this host":          {probe("127.0.0.1"), nil, "probe"},
		"a probe of nothing":            {probe("0.0.0.0"), nil, "probe"},
		"a probe of metadata":           {probe("169.254.169.254"), nil, "probe"},
		"a number as an address":        {probe("2130706433"), nil, "probe"},
		"a probe that is listed":        {probe("127.0.0.1"), func(p *policy.Policy) { p.Probes = []string{"127.0.0.1"} }, ""},
		"a probe that is not":           {probe("10.1.2.3"), func(p *policy.Policy) { p.Probes = []string{"10.9.*"} }, "probe"},
		"device":                        {disk + "block: {path: /dev/disk/by-id/a}}]\n", func(p *policy.Policy) { p.HostDevices = []string{"/dev/disk/by-id/a"} }, ""},
		"device by another name":        {disk + "block: {path: /dev/sdb}}]\n", func(p *policy.Policy) { p.HostDevices = []string{"/dev/disk/by-id/a"} }, ""},
		"another device":                {disk + "block: {path: /dev/sda}}]\n", func(p *policy.Policy) { p.HostDevices = []string{"/dev/disk/by-id/a"} }, "host-device"},
	}
	devices := links{"/dev/disk/by-id/a": "/dev/sdb"}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := policy.Default()
			if tt.policy != nil {
				tt.policy(&p)
			}
			got := strings.Join(rules(policy.Check(p, machine(t, tt.spec), devices).Refusals), " ")
			if got != tt.want {
				t.Errorf("broken: %q, want %q", got, tt.want)
			}
		})
	}
}

// TestAdmission holds random hosts against what must be true of every one.
func TestAdmission(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		limits := policy.Limits{Memory: 1 + r.Int64N(20), CPUs: 1 + r.Int64N(20), Disk: 1 + r.Int64N(20)}
		size := func() policy.Size { return policy.Size{Memory: r.Int64N(8), CPUs: r.Int64N(8), Disk: r.Int64N(8)} }
		var machines []policy.Machine
		for n := range 1 + r.IntN(6) {
			m := policy.Machine{Name: string(rune('a' + n)), Size: size(), On: r.IntN(4) > 0, Refused: r.IntN(6) == 0}
			if r.IntN(2) == 0 {
				has := size()
				if m.Same = r.IntN(2) == 0; m.Same {
					has = m.Size
				}
				m.Has, m.Active, m.Ran = &has, r.IntN(2) == 0, r.IntN(2) == 0
			}
			machines = append(machines, m)
		}
		verdicts := policy.Admit(limits, machines)
		shuffled := slices.Clone(machines)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		before, after := int64(0), int64(0)
		for name, v := range policy.Admit(limits, shuffled) {
			if !slices.Equal(v.Refusals, verdicts[name].Refusals) || v.Start != verdicts[name].Start {
				t.Fatalf("the order of the list matters: %+v", machines)
			}
		}
		for _, m := range machines {
			v := verdicts[m.Name]
			if m.Active && m.Same && len(v.Refusals) > 0 {
				t.Fatalf("%s runs as it is wanted, and is refused: %+v", m.Name, machines)
			}
			now := int64(0)
			if m.Active {
				now = m.Has.Memory
				before += now
			}
			switch {
			case !m.On:
			case !m.Refused && len(v.Refusals) == 0:
				now = max(now, m.Size.Memory)
			case v.Start:
				now = max(now, m.Has.Memory)
			}
			after += now
		}
		if after > max(before, limits.Memory) {
			t.Fatalf("the ceiling of %d is broken with %d: %+v\n%+v", limits.Memory, after, machines, verdicts)
		}
	}
}

// TestTableIsReadWhole: every row of the table says something that is understood, and every check that it names is there.
func TestTableIsReadWhole(t *testing.T) {
	e := domxml.New("domain", "type", "kvm")
	i := *machine(t, plainSpec)
	i.Domain = e
	policy.EachRow(func(path string, attrs []string) {
		at := e
		for name := range strings.SplitSeq(strings.ReplaceAll(path, "*", "disk"), "/") {
			if name != "." {
				at = at.Ensure(name)
			}
		}
		at.Text = "x"
		for _, a := range attrs {
			at.SetAttr(a, "x")
		}
	})
	if found := policy.Check(policy.Policy{}, &i, files).Refusals; len(found) == 0 {
		t.Error("a domain with everything in it is let through")
	}
}
