package pgx_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/isowatch/isowatch/capture"
	capturepgx "github.com/isowatch/isowatch/capture/pgx"
	"github.com/isowatch/isowatch/internal/testcapture"
)

// serve answers a client as a server does that has no tables: statements begin, commit and roll
// back, and do nothing else.
func serve(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	status := byte('I')
	b.Send(&pgproto3.AuthenticationOk{})
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: status})
		if b.Flush() != nil {
			return
		}
		m, err := b.Receive()
		if err != nil {
			return
		}
		q, ok := m.(*pgproto3.Query)
		if !ok {
			return // Terminate
		}
		verb, _, _ := strings.Cut(strings.ToUpper(q.String), " ")
		switch verb {
		case "BEGIN":
			status = 'T'
		case "COMMIT", "ROLLBACK":
			status = 'I'
		}
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte(verb)})
	}
}

// dial is a connection of pgx to serve, whose transactions are recorded.
func dial(t *testing.T, r *capture.Recorder, options ...capturepgx.Option) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig("postgres://me@127.0.0.1/shop?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serve(server)
		return client, nil
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.Tracer = capturepgx.New(r, options...)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// TestContextNames: the context of Begin names the transaction, and Of tells its id, in BeginFunc too. A transaction
// that is begun with another context has no name.
func TestContextNames(t *testing.T) {
	r, kept := testcapture.New(t)
	conn := dial(t, r, capturepgx.WithLevel("READ COMMITTED"))
	ctx := capture.WithBegin(t.Context(), capture.Begin{Name: "pay", TraceID: "4bf92f", Labels: map[string]string{"endpoint": "a"}})
	var ids []string
	note := func(tx pgx.Tx) error {
		ids = append(ids, capturepgx.Of(tx).ID())
		return nil
	}
	for _, begin := range []func() error{
		func() error { return pgx.BeginFunc(ctx, conn, note) },
		func() error {
			return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.Serializable}, note)
		},
		func() error { return pgx.BeginFunc(t.Context(), conn, note) },
	} {
		if err := begin(); err != nil {
			t.Fatal(err)
		}
	}
	named := `"name":"pay","trace_id":"4bf92f","labels":{"endpoint":"a"}`
	lines := kept.Lines(t)
	if len(lines) != 3 {
		t.Fatalf("%d records, want 3", len(lines))
	}
	for i, want := range []struct {
		isolation string
		named     bool
	}{{`"isolation":"READ COMMITTED"`, true}, {`"isolation":"SERIALIZABLE"`, true}, {`"isolation":"READ COMMITTED"`, false}} {
		has := func(text string) bool { return bytes.Contains(bytes.ToUpper(lines[i]), bytes.ToUpper([]byte(text))) }
		if ids[i] == "" || !has(`"txn":"`+ids[i]+`"`) || !has(want.isolation) || has(named) != want.named || has("trace_id") != want.named {
			t.Errorf("transaction %q has the record %s, want %s, and named: %v", ids[i], lines[i], want.isolation, want.named)
		}
	}
}

// TestOfBehindTheEnd: none is open on a transaction that has ended, so its id is asked for before.
func TestOfBehindTheEnd(t *testing.T) {
	r, _ := testcapture.New(t)
	conn := dial(t, r)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	txn := capturepgx.Of(tx)
	id := txn.ID()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := capturepgx.Of(tx).ID(); got != "" || txn.ID() != id || id == "" {
		t.Errorf("after the end Of has the id %q, and the transaction %q, want none and %q", got, txn.ID(), id)
	}
}
