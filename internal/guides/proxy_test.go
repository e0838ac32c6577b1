//go:build integration

package guides

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// cutter forwards connections to a PostgreSQL server, and breaks one in some COMMITs: in turn
// before the server has it, and when the server has answered.
type cutter struct {
	server  string
	every   int64
	commits atomic.Int64
	cuts    atomic.Int64
}

// newCutter returns a URL of the server that url names, through a cutter that breaks every
// so-manieth COMMIT.
func newCutter(t *testing.T, url string, every int64) (*cutter, string) {
	t.Helper()
	_, rest, _ := strings.Cut(url, "@")
	server, _, _ := strings.Cut(rest, "/")
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &cutter{server: server, every: every}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go c.serve(client)
		}
	}()
	return c, strings.Replace(url, server, l.Addr().String(), 1)
}

func (c *cutter) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	var cutAnswer atomic.Bool // the next COMMIT that the server answers is not told
	go func() {
		defer client.Close()
		defer server.Close()
		each(server, func(data []byte) bool {
			if cutAnswer.Load() && bytes.Contains(data, []byte("COMMIT\x00")) {
				return false
			}
			_, err := client.Write(data)
			return err == nil
		})
	}()
	each(client, func(data []byte) bool {
		if bytes.Contains(data, []byte("COMMIT")) && c.commits.Add(1)%c.every == 0 {
			if c.cuts.Add(1)%2 == 0 {
				return false
			}
			cutAnswer.Store(true)
		}
		_, err := server.Write(data)
		return err == nil
	})
}

// each gives what comes to fn until that is false.
func each(from io.Reader, fn func([]byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !fn(buffer[:n]) || err != nil {
			return
		}
	}
}
