package proxy

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	headerSize = 4 + 6*4 // the length, which counts itself, and the header
	// maxPacket is above libvirt's own limit of 32 MiB: a longer one means that the framing is lost.
	maxPacket = 64 << 20
)

// Types of packets.
const (
	typeCall        = 0
	typeReply       = 1
	typeCallWithFDs = 4
)

// packet is one RPC message as it came, length and header included.
type packet []byte

func (p packet) word(i int) uint32 { return binary.BigEndian.Uint32(p[4*i:]) }

func (p packet) procedure() procedureID { return procedureID{program: p.word(1), number: p.word(3)} }
func (p packet) kind() uint32           { return p.word(4) }
func (p packet) serial() uint32         { return p.word(5) }
func (p packet) failed() bool           { return p.word(6) != 0 }
func (p packet) payload() []byte        { return p[headerSize:] }

// isCall tells a client's call of a procedure from keepalives and stream data.
func (p packet) isCall() bool {
	return (p.kind() == typeCall || p.kind() == typeCallWithFDs) &&
		(p.word(1) == remoteProgram || p.word(1) == qemuProgram)
}

func (p packet) isReply() bool { return p.kind() == typeReply }

// readPacket reads the next packet whole.
func readPacket(r io.Reader) (packet, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size < headerSize || size > maxPacket {
		return nil, fmt.Errorf("cannot read a packet of %d bytes: want %d to %d", size, headerSize, maxPacket)
	}
	p := make(packet, size)
	copy(p, length[:])
	_, err := io.ReadFull(r, p[4:])
	return p, err
}
