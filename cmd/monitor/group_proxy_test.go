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
	renamed []renamed // addresses that a broker names become those of proxies

	mu     sync.Mutex
	mended *sync.Cond
	up     bool // what clients send waits
	down   bool // what the server sends waits
	closed bool
}

// renamed is an address as the broker writes it, and the proxy's.
type renamed struct{ from, to []byte }

// proxies stand before all servers of a broker, or of a store.
type proxies []*tcpProxy

// startProxies starts a proxy for each address. rewrite: the servers name each other to clients.
func startProxies(t *testing.T, addresses []string, rewrite bool) (all proxies) {
	t.Helper()
	var names []renamed
	var listeners []net.Listener
	for _, to := range addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners, all = append(listeners, l), append(all, &tcpProxy{address: l.Addr().String(), to: to})
		if rewrite {
			names = append(names, renamed{written(to), written(l.Addr().String())})
		}
	}
	for i, p := range all {
		p.renamed = names
		p.serve(t, listeners[i])
	}
	return all
}

func (all proxies) addresses() (list []string) {
	for _, p := range all {
		list = append(list, p.address)
	}
	return list
}

// cut lets the bytes of some directions wait.
func (all proxies) cut(up, down bool) {
	for _, p := range all {
		p.cut(up, down)
	}
}

// written is an address as Kafka writes it: the host, and a number of four bytes.
func written(address string) []byte {
	host, text, _ := net.SplitHostPort(address) // it was made by the net package
	port, _ := strconv.Atoi(text)
	return binary.BigEndian.AppendUint32([]byte(host), uint32(port))
}

func (p *tcpProxy) serve(t *testing.T, l net.Listener) {
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
	both.Go(func() { p.copy(client, server, &p.down, p.renamed); client.Close() })
	both.Wait()
}

func (p *tcpProxy) copy(to, from net.Conn, cut *bool, names []renamed) {
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
			for _, x := range names {
				b = bytes.ReplaceAll(b, x.from, x.to)
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
