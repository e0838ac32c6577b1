package nats

import (
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A server flushes a connection as soon as a message is in it. A reader that reads at once then takes
// each message of a batch alone: every one wakes the server's writer, the client and the reader. So after a
// read that had to wait, the next one waits for pauseRead. Where messages are under way no read has to wait.
const (
	pauseRead  = time.Millisecond
	waitedRead = 2 * time.Millisecond
)

// calmConn is a connection with such pauses. Only one goroutine reads.
type calmConn struct {
	net.Conn
	waited bool // the latest read had to wait
}

func (c *calmConn) Read(p []byte) (int, error) {
	if c.waited {
		time.Sleep(pauseRead)
	}
	began := time.Now()
	n, err := c.Conn.Read(p)
	c.waited = time.Since(began) > waitedRead
	return n, err
}

// calmDialer dials such connections.
type calmDialer struct{ net.Dialer }

// Dial implements [nats.CustomDialer].
func (d *calmDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.Dialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &calmConn{Conn: conn}, nil
}

// calmServer gives such connections to a server in this process.
type calmServer struct{ *server.Server }

// InProcessConn implements [nats.InProcessConnProvider].
func (s calmServer) InProcessConn() (net.Conn, error) {
	conn, err := s.Server.InProcessConn()
	if err != nil {
		return nil, err
	}
	return &calmConn{Conn: conn}, nil
}

var (
	_ nats.CustomDialer          = (*calmDialer)(nil)
	_ nats.InProcessConnProvider = calmServer{}
)
