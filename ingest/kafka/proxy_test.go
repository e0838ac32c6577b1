package kafka

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// flip forwards to addr and, while on, turns the first byte of each text that
// a broker sends. The broker's own address is rewritten to the proxy's, which
// has as many digits, so that everything goes through it.
func flip(t *testing.T, addr, text string, on *atomic.Bool) string {
	t.Helper()
	_, brokerPort, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	from, _ := strconv.Atoi(brokerPort)
	own := l.Addr().(*net.TCPAddr).Port
	go func() {
		for {
			down, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", addr)
			if err != nil {
				down.Close()
				continue
			}
			go func() { io.Copy(up, down); up.Close() }()
			go func() {
				defer down.Close()
				buf := make([]byte, 1<<20)
				for {
					n, err := up.Read(buf)
					if err != nil {
						return
					}
					b := bytes.ReplaceAll(buf[:n], port(from), port(own))
					if on.Load() {
						b = bytes.ReplaceAll(b, []byte(text), append([]byte{text[0] ^ 1}, text[1:]...))
					}
					if _, err := down.Write(b); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// port is how a metadata response writes a port: four bytes.
func port(n int) []byte { return []byte{0, 0, byte(n >> 8), byte(n)} }
