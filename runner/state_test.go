package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/digitalocean/go-libvirt"
)

func TestNameState(t *testing.T) {
	for _, test := range []struct {
		state  libvirt.DomainState
		reason int32
		want   string
	}{
		{libvirt.DomainRunning, int32(libvirt.DomainRunningBooted), "running booted"},
		{libvirt.DomainRunning, int32(libvirt.DomainRunningPostcopyFailed), "running post-copy failed"},
		{libvirt.DomainPaused, int32(libvirt.DomainPausedUser), "paused user"},
		{libvirt.DomainPaused, int32(libvirt.DomainPausedIoerror), "paused ioerror"},
		{libvirt.DomainPaused, int32(libvirt.DomainPausedAPIError), "paused api error"},
		{libvirt.DomainShutdown, int32(libvirt.DomainShutdownUser), "in shutdown user"},
		{libvirt.DomainShutoff, int32(libvirt.DomainShutoffUnknown), "shut off unknown"},
		{libvirt.DomainShutoff, int32(libvirt.DomainShutoffShutdown), "shut off shutdown"},
		{libvirt.DomainShutoff, int32(libvirt.DomainShutoffDestroyed), "shut off destroyed"},
		{libvirt.DomainShutoff, int32(libvirt.DomainShutoffCrashed), "shut off crashed"},
		{libvirt.DomainShutoff, int32(libvirt.DomainShutoffMigrated), "shut off migrated"},
		{libvirt.DomainShutoff, int32(libvirt.DomainShutoffSaved), "shut off saved"},
		{libvirt.DomainShutoff, int32(libvirt.DomainShutoffFailed), "shut off failed"},
		{libvirt.DomainShutoff, int32(libvirt.DomainShutoffDaemon), "shut off daemon"},
		{libvirt.DomainCrashed, int32(libvirt.DomainCrashedPanicked), "crashed panicked"},
		{libvirt.DomainBlocked, 0, "blocked unknown"},
		{libvirt.DomainPmsuspended, 0, "pmsuspended unknown"},
		{libvirt.DomainNostate, 0, "unknown unknown"},
		{libvirt.DomainShutoff, 99, "shut off unknown"},
		{libvirt.DomainShutoff, -1, "shut off unknown"},
		{99, 1, "unknown unknown"},
	} {
		state, reason := nameState(int32(test.state), test.reason)
		if got := string(state) + " " + reason; got != test.want {
			t.Errorf("state %d for reason %d is %q, want %q", test.state, test.reason, got, test.want)
		}
	}
}

func TestClassify(t *testing.T) {
	number := func(n libvirt.ErrorNumber, text string) error { return libvirt.Error{Code: uint32(n), Message: text} }
	for _, test := range []struct {
		name string
		err  error
		want error
	}{
		{"no domain", number(libvirt.ErrNoDomain, "x"), ErrMissing},
		{"no pool", number(libvirt.ErrNoStoragePool, "x"), ErrPool},
		{"held lock", number(libvirt.ErrOperationTimeout, "x"), ErrStuck},
		{"interrupted", fmt.Errorf("x: %w", libvirt.ErrInterrupted), ErrDisconnected},
		{"end of file", io.EOF, ErrDisconnected},
		{"ended connection", syscall.EINVAL, ErrDisconnected},
		{"something else", number(libvirt.ErrInternalError, "x"), nil},
		{"cancelled", context.Canceled, nil},
	} {
		got := classify(test.err)
		if !errors.Is(got, test.err) || got.Error() != test.err.Error() {
			t.Errorf("%s: the error became %v", test.name, got)
		}
		for _, class := range []error{ErrMissing, ErrPool, ErrStuck, ErrDisconnected} {
			if errors.Is(got, class) != (class == test.want) {
				t.Errorf("%s: it is of the class %q: %v", test.name, class, errors.Is(got, class))
			}
		}
	}
	if classify(nil) != nil {
		t.Error("no error became one")
	}
	for err, want := range map[error]error{
		number(libvirt.ErrXMLInvalidSchema, "x"):                                    ErrInvalid,
		number(libvirt.ErrConfigUnsupported, "x"):                                   ErrInvalid,
		number(libvirt.ErrOperationFailed, "domain 'a' already exists with uuid u"): ErrConflict,
	} {
		if got := refused(err); !errors.Is(got, want) {
			t.Errorf("%v is not of the class %q", got, want)
		}
	}
}

func TestHasID(t *testing.T) {
	for _, test := range []struct {
		xml  string
		id   int32
		want bool
	}{
		{"<domain type='kvm' id='7'>\n  <name>x</name>", 7, true},
		{"<domain type='kvm' id='7' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>", 7, true},
		{"<domain type='kvm' id='17'>", 7, false},
		{"<domain type='kvm'>\n<seclabel id='7'>", 7, false},
		{"", 7, false},
	} {
		if got := hasID(test.xml, test.id); got != test.want {
			t.Errorf("%q is of run %d: %v", test.xml, test.id, got)
		}
	}
}

// FuzzLibvirtsXML reads what libvirt says of pools and capabilities: it either says what is needed or is an error.
func FuzzLibvirtsXML(f *testing.F) {
	f.Add("<pool type='dir'><name>p</name><target><path>/var/lib/libvirt/images</path></target></pool>")
	f.Add("<pool type='logical'><target><path>/dev/vg</path></target></pool>")
	f.Add("<domainCapabilities><path>/usr/bin/q</path><domain>kvm</domain><arch>x86_64</arch></domainCapabilities>")
	f.Add("<pool")
	f.Fuzz(func(t *testing.T, text string) {
		kind, dir, err := poolKind(text)
		if err == nil && (kind == "" || dir != "" && !strings.Contains(text, "path")) {
			t.Errorf("%q is a pool of type %q in %q", text, kind, dir)
		}
		if c, err := parseCapabilities(text); err == nil && c.DomainType == "" {
			t.Errorf("%q gives %+v", text, c)
		}
	})
}

func TestPoolKind(t *testing.T) {
	for text, want := range map[string]string{
		"<pool type='dir'><target><path>/a b</path></target></pool>":                                  "dir /a b",
		"<pool type='netfs'><source><dir path='/x'/></source><target><path>/n</path></target></pool>": "netfs /n",
		"<pool type='logical'><target><path>/dev/vg</path></target></pool>":                           "logical ",
		"<pool type='disk'><target><path>/dev</path></target></pool>":                                 "names its volumes itself",
		"<pool type='rbd'></pool>": "gives machines no volumes by name",
		"<pool type='new'></pool>": `of type "new"; volumes can be made in`,
		"<pool type='dir'></pool>": "names no folder",
		"<pool":                    "cannot read its XML",
	} {
		kind, dir, err := poolKind(text)
		if got := kind + " " + dir; got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s is %q with the error %v, want %q", text, got, err, want)
		}
	}
}
