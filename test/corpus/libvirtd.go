package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/runner/sandbox"
)

// defineTimeout bounds one call. The first asks QEMU what it can, which takes half a second.
const defineTimeout = 30 * time.Second

// errDied says that libvirtd ended while it was asked something.
var errDied = errors.New("libvirtd died of it")

// daemon is a private libvirtd that is started again when it dies.
type daemon struct {
	sandbox *sandbox.Sandbox
	conn    net.Conn
	client  *libvirt.Libvirt
}

func startDaemon(ctx context.Context, cache string) (*daemon, error) {
	s, err := sandbox.Start(ctx, sandbox.Options{DefaultPool: true, CapabilityCache: cache})
	if err != nil {
		return nil, err
	}
	d := &daemon{sandbox: s}
	if err := d.connect(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return d, nil
}

func (d *daemon) connect(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", d.sandbox.Socket())
	if err != nil {
		return fmt.Errorf("cannot connect to the private libvirtd: %w", err)
	}
	client := libvirt.NewWithDialer(dialed{conn})
	if err := client.ConnectToURI(libvirt.QEMUSession); err != nil {
		return fmt.Errorf("cannot connect to the private libvirtd: %w", errors.Join(err, conn.Close()))
	}
	d.conn, d.client = conn, client
	return nil
}

func (d *daemon) close() error {
	// The daemon goes, so how the connection ends does not matter.
	_ = d.conn.Close()
	return d.sandbox.Close()
}

// dialed gives go-libvirt a connection that is open already.
type dialed struct{ conn net.Conn }

func (d dialed) Dial() (net.Conn, error) { return d.conn, nil }

// define has libvirtd define a domain, and returns what it keeps of it. The domain stays.
func (d *daemon) define(ctx context.Context, e *domxml.Element, validate bool) (*domxml.Element, error) {
	var flags libvirt.DomainDefineFlags
	if validate {
		flags = libvirt.DomainDefineValidate
	}
	var text string
	err := d.call(ctx, func() error {
		domain, err := d.client.DomainDefineXMLFlags(e.String(), flags)
		if err != nil {
			return err
		}
		text, err = d.client.DomainGetXMLDesc(domain, libvirt.DomainXMLInactive|libvirt.DomainXMLSecure)
		return err
	})
	if err != nil {
		return nil, err
	}
	return domxml.Parse(text)
}

// clear removes every domain that is defined.
func (d *daemon) clear(ctx context.Context) error {
	return d.call(ctx, func() error {
		domains, _, err := d.client.ConnectListAllDomains(1, 0)
		for _, domain := range domains {
			err = errors.Join(err, d.client.DomainUndefineFlags(domain, libvirt.DomainUndefineKeepNvram))
		}
		return err
	})
}

// call does something with the daemon, and starts the next one when it dies of that. An error that is not libvirt's own
// answer means a lost connection.
func (d *daemon) call(ctx context.Context, do func() error) error {
	timer := time.AfterFunc(defineTimeout, func() { d.conn.Close() })
	err := do()
	timer.Stop()
	var answer libvirt.Error
	if err == nil || errors.As(err, &answer) {
		return err
	}
	_ = d.conn.Close()
	// It may be on its way down still, and then neither ends nor starts.
	again, cancel := context.WithTimeout(ctx, defineTimeout)
	defer cancel()
	for d.sandbox.RestartDaemon(again) != nil {
		select {
		case <-again.Done():
			return fmt.Errorf("cannot start libvirtd again, which died: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	return errDied
}
