package runner

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/digitalocean/go-libvirt"

	"github.com/gitvirt/gitvirt/runner/image"
)

// The classes of errors. An error of Observe and Apply is of at most one, by errors.Is; it keeps its own words, and
// libvirt's. One without a class is worth trying again later.
var (
	// ErrDisconnected says that libvirt's daemon was not there, or went away during the call. Whether the call was
	// carried out is not known.
	ErrDisconnected = errors.New("libvirt is not there")
	// ErrStuck says that there was no answer in time, or that an earlier call about the domain still has none.
	ErrStuck = errors.New("no answer in time")
	// ErrInvalid says that libvirt refused a definition. The same one will be refused again.
	ErrInvalid = errors.New("refused by libvirt")
	// ErrConflict says that the domain's name or UUID is another's.
	ErrConflict = errors.New("the name or UUID is another domain's")
	// ErrMissing says that there is no such domain.
	ErrMissing = errors.New("no such domain")
	// ErrActive says that the domain runs, and the step is for one that does not.
	ErrActive = image.ErrInUse
	// ErrPool says that a storage pool is not there, is not active, or is not a folder.
	ErrPool = errors.New("the storage pool cannot be used")
	// ErrImage says that an image cannot be made from what there is: see image.ErrUnusable.
	ErrImage = image.ErrUnusable
)

// classed is an error with its class, which is not part of the words.
type classed struct{ class, err error }

func (e classed) Error() string   { return e.err.Error() }
func (e classed) Unwrap() []error { return []error{e.class, e.err} }

// classify gives a libvirt call's error its class.
func classify(err error) error {
	class := classOf(err)
	if class == nil || errors.Is(err, class) {
		return err
	}
	return classed{class, err}
}

func classOf(err error) error {
	var network *net.OpError
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.Is(err, libvirt.ErrInterrupted), errors.As(err, &network), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrClosedPipe), errors.Is(err, syscall.EINVAL):
		return ErrDisconnected // go-libvirt gives EINVAL for a connection that has ended
	}
	switch code(err) {
	case libvirt.ErrNoDomain:
		return ErrMissing
	case libvirt.ErrNoStoragePool:
		return ErrPool
	case libvirt.ErrOperationTimeout: // another call holds the domain's lock; libvirt waits for it for 30 s
		return ErrStuck
	}
	return nil
}

// code is libvirt's number of an error; ErrOk of one that is not libvirt's.
func code(err error) libvirt.ErrorNumber {
	var e libvirt.Error
	if errors.As(err, &e) {
		return libvirt.ErrorNumber(e.Code)
	}
	return libvirt.ErrOk
}

// refused gives the error of a define its class.
func refused(err error) error {
	switch code(err) {
	case libvirt.ErrXMLError, libvirt.ErrXMLDetail, libvirt.ErrXMLInvalidSchema, libvirt.ErrConfigUnsupported,
		libvirt.ErrInvalidArg, libvirt.ErrArgumentUnsupported, libvirt.ErrInvalidMac, libvirt.ErrNoSupport:
		return classed{ErrInvalid, err}
	case libvirt.ErrOperationFailed:
		if strings.Contains(err.Error(), "uuid") { // "domain 'web' already exists with uuid …"
			return classed{ErrConflict, err}
		}
	}
	return err
}
