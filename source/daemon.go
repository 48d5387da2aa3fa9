package source

import (
	"bytes"
	"fmt"
	"net"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// daemonKind speaks to git-daemon(1): git://. Nobody is authenticated there, neither we nor the server, and anybody on
// the way can change what is sent.
type daemonKind struct{ at location }

func newDaemonRemote(at location) (daemonKind, error) {
	if at.user != "" || at.pass != "" {
		return daemonKind{}, fmt.Errorf("the URL of %s names a user, and git:// knows none: use https:// or ssh://, or leave the user out", at)
	}
	return daemonKind{at}, nil
}

func (d daemonKind) address() string {
	port := d.at.port
	if port == "" {
		port = "9418"
	}
	return net.JoinHostPort(d.at.host, port)
}

// start asks as gitprotocol-pack(5), GIT TRANSPORT, says. Servers that know nothing of versions overlook what follows the
// second zero byte.
func (d daemonKind) start(conn net.Conn) (*stream, error) {
	host := d.at.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if d.at.port != "" {
		host += ":" + d.at.port
	}
	request := "git-upload-pack " + d.at.path + "\x00host=" + host + "\x00\x00version=2\x00"
	var line bytes.Buffer // so that it is sent in one piece
	if err := pktline.NewEncoder(&line).EncodeString(request); err != nil {
		return nil, err
	}
	if _, err := conn.Write(line.Bytes()); err != nil {
		return nil, err
	}
	return &stream{in: conn, out: conn, explain: func(err error) error { return err }, close: func() {}}, nil
}
