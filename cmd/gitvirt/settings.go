package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/gitvirt/gitvirt/source"
)

// defaultConfig is read when it is there and no other is named.
const defaultConfig = "/etc/gitvirt/agent.yaml"

// settings are an agent's: built-in defaults, then its file, then its flags.
type settings struct {
	Repo          string        `yaml:"repo"`
	Branch        string        `yaml:"branch"`
	Path          string        `yaml:"path"`
	Host          string        `yaml:"host"`
	DefaultHost   string        `yaml:"defaultHost"`
	Fleet         string        `yaml:"fleet"`
	Libvirt       string        `yaml:"libvirt"`
	DomainType    string        `yaml:"domainType"`
	StateDir      string        `yaml:"stateDir"`
	Interval      time.Duration `yaml:"interval"`
	Statistics    time.Duration `yaml:"statisticsInterval"`
	Listen        string        `yaml:"listen"`
	Socket        string        `yaml:"socket"`
	LogFormat     string        `yaml:"logFormat"`
	RemovalBudget int           `yaml:"removalBudget"`
	Auth          auth          `yaml:"auth"`
	ForcedPush    forcedPush    `yaml:"forcedPush"`
	Webhook       webhook       `yaml:"webhook"`
	Notices       []notices     `yaml:"notices"`
	Secrets       secrets       `yaml:"secrets"`
	Policy        policy        `yaml:"policy"`
	Verify        verify        `yaml:"verify"`
	Ref           ref           `yaml:"ref"`
	// LibvirtConfigDir and LibvirtStateDir are where libvirt keeps its domains' XML, when that cannot be told from the
	// URI.
	LibvirtConfigDir string `yaml:"libvirtConfigDir"`
	LibvirtStateDir  string `yaml:"libvirtStateDir"`
}

func defaults() settings {
	host, err := os.Hostname()
	if err != nil {
		host = "" // asked for below
	}
	return settings{
		Branch: source.DefaultBranch, Path: ".", Host: host, Fleet: "default", Libvirt: "qemu:///system", DomainType: "auto",
		StateDir: "/var/lib/gitvirt", Interval: time.Minute, Statistics: 30 * time.Second, Listen: "127.0.0.1:9177", Socket: "gitvirt.sock", LogFormat: logText, RemovalBudget: 3,
	}
}

// bind makes each setting that may be one a flag. Flags are named as the file's keys, in the command line's spelling.
func (s *settings) bind(f *pflag.FlagSet) {
	f.StringVar(&s.Repo, "repo", s.Repo, "the configuration repository: a path, file://, https://, ssh://, user@host:path or git://")
	f.StringVar(&s.Branch, "branch", s.Branch, "the branch to follow")
	f.StringVar(&s.Path, "path", s.Path, "the folder of the repository that holds the documents")
	f.StringVar(&s.Host, "host", s.Host, "the name that this host goes by in run states")
	f.StringVar(&s.DefaultHost, "default-host", s.DefaultHost, "where machines are of which KubeVirt's manifests do not say it; the same for all agents")
	f.StringVar(&s.Fleet, "fleet", s.Fleet, "the name of all hosts together; UUIDs and MAC addresses are derived from it")
	f.StringVar(&s.Libvirt, "libvirt", s.Libvirt, "libvirt's URI")
	f.StringVar(&s.DomainType, "domain-type", s.DomainType, "kvm, qemu, or auto: kvm where the host can")
	f.StringVar(&s.StateDir, "state-dir", s.StateDir, "the folder for what the agent keeps")
	f.DurationVar(&s.Interval, "interval", s.Interval, "how often the repository is asked for news")
	f.DurationVar(&s.Statistics, "statistics-interval", s.Statistics, "how often libvirt is asked what machines use, for the metrics; 0 for never")
	f.StringVar(&s.Listen, "listen", s.Listen, "the address of metrics and status; empty for none")
	f.StringVar(&s.Socket, "socket", s.Socket, "the Unix socket for scripts on this host, in the state dir unless it is a whole path; empty for none")
	f.StringVar(&s.LogFormat, "log-format", s.LogFormat, "how log lines are written: text (logfmt) or json")
	f.StringVar(&s.LibvirtConfigDir, "libvirt-config-dir", s.LibvirtConfigDir, "where libvirt keeps its domains' XML, if not in its usual place")
	f.StringVar(&s.LibvirtStateDir, "libvirt-state-dir", s.LibvirtStateDir, "where libvirt keeps its running domains' status, if not in its usual place")
}

// read reads an agent's file over the defaults; without a name the usual one, if it is there.
func read(file string) (settings, error) {
	s := defaults()
	f, err := os.Open(configFile(file))
	if errors.Is(err, fs.ErrNotExist) && file == "" {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("cannot read the agent's configuration: %w", err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return s, fmt.Errorf("cannot read the agent's configuration %s: %s", f.Name(), plain(err))
	}
	return s, nil
}

// load is the agent's file, with the flags that were given over it.
func load(file string, flags *pflag.FlagSet) (settings, error) {
	s, err := read(file)
	if err != nil {
		return s, err
	}
	// The flags that were given are set once more, on what the file says.
	again := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.bind(again)
	var bad error
	if flag := flags.Lookup("repo"); flag != nil && flag.Changed {
		bad = notInView(flag.Value.String())
	}
	flags.Visit(func(flag *pflag.Flag) {
		if again.Lookup(flag.Name) != nil {
			bad = errors.Join(bad, again.Set(flag.Name, flag.Value.String()))
		}
	})
	return s, errors.Join(bad, s.validate())
}

// goType is how the decoder names where a key is: by our types, which are named as the sections of the file are.
var goType = regexp.MustCompile(`not found in type main\.(\w+)`)

// plain takes the names of Go's types out of the decoder's words.
func plain(err error) string {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	s = strings.ReplaceAll(s, "not found in type main.settings", "is not known")
	return goType.ReplaceAllString(s, "is not known in $1")
}

func (s settings) validate() error {
	var errs []error
	if s.Repo == "" {
		errs = append(errs, errors.New("no repository: say --repo, or repo in the configuration file"))
	}
	if s.Host == "" {
		errs = append(errs, errors.New("no name for this host: say --host, or host in the configuration file"))
	}
	if s.DomainType != "auto" && s.DomainType != "kvm" && s.DomainType != "qemu" {
		errs = append(errs, fmt.Errorf("domain type %q: say kvm, qemu or auto", s.DomainType))
	}
	if s.Interval < time.Second {
		errs = append(errs, fmt.Errorf("interval %v: say a second or more", s.Interval))
	}
	if s.Statistics != 0 && s.Statistics < time.Second {
		errs = append(errs, fmt.Errorf("statisticsInterval %v: say a second or more, or 0", s.Statistics))
	}
	if s.RemovalBudget < 1 {
		errs = append(errs, fmt.Errorf("removalBudget %d: say 1 or more", s.RemovalBudget))
	}
	if err := s.ForcedPush.validate(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, s.Verify.validate(), s.Ref.validate(), s.validateLog())
	if s.StateDir == "" {
		errs = append(errs, errors.New("no folder for what the agent keeps: say --state-dir"))
	}
	errs = append(errs, s.Secrets.validate())
	if _, err := s.Policy.policy(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// storeDir is where the repository's objects are kept.
func (s settings) storeDir() string { return filepath.Join(s.StateDir, "source") }

// cacheDir is where what is fetched for machines is kept.
func (s settings) cacheDir() string { return filepath.Join(s.StateDir, "cache") }
