package nats

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestCalmConn reads a batch that comes in pieces: only the read behind the one that had to wait pauses.
func TestCalmConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe()
		go func() {
			for range 2 {
				time.Sleep(30 * time.Millisecond)
				for range 10 {
					_, _ = server.Write([]byte("message"))
				}
			}
			_ = server.Close()
		}()
		conn := &calmConn{Conn: client}
		began := time.Now()
		for i := range 20 {
			if n, err := conn.Read(make([]byte, 100)); n != len("message") || err != nil {
				t.Fatal(n, err)
			}
			want := 30 * time.Millisecond
			if i%10 > 0 {
				want += pauseRead
			}
			if i >= 10 {
				want += 30*time.Millisecond + pauseRead
			}
			if got := time.Since(began); got != want {
				t.Errorf("message %d came after %v, want %v", i, got, want)
			}
		}
	})
}
