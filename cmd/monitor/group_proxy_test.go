package main

import (
	"bytes"
	"encoding/binary"
	"net"
	"strconv"
	"sync"
	"testing"
)

// tcpProxy forwards connections to one address, until it is cut. Then bytes of a direction wait, as they do when packets are lost:
// no side hears that the connection is gone.
type tcpProxy struct {
	address string
	to      string
	rewrite bool // ports that a broker names become this proxy's

	mu     sync.Mutex
	mended *sync.Cond
	up     bool // what clients send waits
	down   bool // what the server sends waits
	closed bool
}

func startProxy(t *testing.T, to string, rewrite bool) *tcpProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tcpProxy{address: l.Addr().String(), to: to, rewrite: rewrite}
	p.mended = sync.NewCond(&p.mu)
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.mended.Broadcast()
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.forward(client)
		}
	}()
	return p
}

func (p *tcpProxy) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client, &p.up, nil); server.Close() })
	both.Go(func() { p.copy(client, server, &p.down, p.ports()); client.Close() })
	both.Wait()
}

// ports are the server's port and the proxy's, as a broker writes them.
func (p *tcpProxy) ports() [][]byte {
	if !p.rewrite {
		return nil
	}
	var all [][]byte
	for _, address := range []string{p.to, p.address} {
		_, text, _ := net.SplitHostPort(address) // it was made by the net package
		port, _ := strconv.Atoi(text)
		all = append(all, binary.BigEndian.AppendUint32(nil, uint32(port)))
	}
	return all
}

func (p *tcpProxy) copy(to, from net.Conn, cut *bool, ports [][]byte) {
	buf := make([]byte, 1<<20)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			for *cut && !p.closed {
				p.mended.Wait()
			}
			p.mu.Unlock()
			b := buf[:n]
			if ports != nil {
				b = bytes.ReplaceAll(b, ports[0], ports[1])
			}
			if _, err := to.Write(b); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut lets the bytes of some directions wait.
func (p *tcpProxy) cut(up, down bool) {
	p.mu.Lock()
	p.up, p.down = up, down
	p.mu.Unlock()
	p.mended.Broadcast()
}
