//go:build integration

package pgx_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/isowatch/isowatch/capture"
	capturepgx "github.com/isowatch/isowatch/capture/pgx"
	"github.com/isowatch/isowatch/internal/testdb"
)

// cut is a connection that ends when COMMIT is answered, before the answer is read.
type cut struct {
	net.Conn
	commits bool
}

func (c *cut) Write(p []byte) (int, error) {
	c.commits = c.commits || bytes.Contains(p, []byte("commit"))
	return c.Conn.Write(p)
}

func (c *cut) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.commits {
		return 0, io.EOF
	}
	return n, err
}

// A COMMIT whose answer is lost has an unknown outcome; one whose context had ended was not sent.
func TestAnswerIsLost(t *testing.T) {
	config, err := pgx.ParseConfig(testdb.Postgres(t))
	must(t, err)
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &cut{Conn: c}, err
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		want capture.Status
	}{{"the answer is lost", t.Context(), capture.Unknown}, {"the context had ended", ended, capture.Aborted}} {
		conn, err := pgx.ConnectConfig(t.Context(), config)
		must(t, err)
		tx, err := conn.Begin(t.Context())
		must(t, err)
		err = tx.Commit(c.ctx)
		if got := capturepgx.Outcome(err); err == nil || got != c.want {
			t.Errorf("%s: %v is %v, want %v", c.name, err, got, c.want)
		}
		_ = conn.Close(t.Context())
	}
}
