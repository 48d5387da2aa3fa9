package runner

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestDaemonDiesAsItOpens: a daemon that answers and dies at once leaves a connection that is known to be gone, or none; and
// go-libvirt does not trip over its own feet, which the race detector would tell.
func TestDaemonDiesAsItOpens(t *testing.T) {
	const procAuthList = 66
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for range 2 { // which authentication there is, and opening the driver
				head := make([]byte, 28) // length, program, version, procedure, type, serial, status
				if _, err := io.ReadFull(c, head); err != nil {
					break
				}
				if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head)-28)); err != nil {
					break
				}
				var payload []byte
				if binary.BigEndian.Uint32(head[12:]) == procAuthList {
					payload = []byte{0, 0, 0, 1, 0, 0, 0, 0} // one: none
				}
				binary.BigEndian.PutUint32(head, uint32(28+len(payload)))
				head[19] = 1 // a reply
				if _, err := c.Write(append(head, payload...)); err != nil {
					break
				}
			}
			c.Close()
		}
	})
	defer served.Wait()
	defer l.Close()
	for range 200 {
		c, err := (endpoint{socket: socket, driver: "qemu:///session"}).dial(t.Context(), 10*time.Second)
		if err != nil {
			if !errors.Is(err, ErrDisconnected) {
				t.Fatal(err)
			}
			continue
		}
		select {
		case <-c.gone():
		case <-time.After(10 * time.Second):
			t.Fatal("nobody has noticed that the daemon is gone")
		}
		c.close()
	}
}
