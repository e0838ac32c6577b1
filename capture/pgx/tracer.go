package pgx

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/capture/internal/statement"
)

// Tracer follows the transactions of connections. Many connections and pools of one database
// may share it.
type Tracer struct {
	recorder  *capture.Recorder
	level     string
	stamps    bool        // see WithCommitTimestamps
	unstamped atomic.Bool // the server does not give them
}

var _ interface {
	pgx.QueryTracer
	pgx.BatchTracer
	pgxpool.ReleaseTracer
} = (*Tracer)(nil)

// Option changes what a tracer does.
type Option func(*Tracer)

// WithLevel is the isolation of transactions that ask for none, in SQL's words: what
// default_transaction_isolation is set to. Without it they say none, and are judged by what is
// expected of the source.
func WithLevel(level string) Option { return func(t *Tracer) { t.level = level } }

// New makes a tracer for pgx.ConnConfig.Tracer.
func New(r *capture.Recorder, options ...Option) *Tracer {
	t := &Tracer{recorder: r}
	for _, o := range options {
		o(t)
	}
	return t
}

// begin makes a transaction that begins now.
func (t *Tracer) begin(ctx context.Context, level string) *capture.Txn {
	return t.recorder.BeginWith(ctx, level, t.level)
}

// running is a statement that changes the transaction.
type running struct {
	verb  statement.Verb
	name  string
	begun *capture.Txn // by BEGIN; not yet open
}

type runningKey struct{}

// TraceQueryStart implements [pgx.QueryTracer].
func (t *Tracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s := stateOf(conn)
	verb, name := statement.Parse(data.SQL)
	if verb == statement.Other {
		t.answer(ctx, conn, s)
		return ctx
	}
	run := &running{verb: verb, name: name}
	if verb == statement.Begin && s.open == nil {
		run.begun = t.begin(ctx, name)
	}
	return context.WithValue(ctx, runningKey{}, run)
}

// answer tells who asks for the transaction of the statement that begins. A transaction is
// recorded only if its begin was seen.
func (t *Tracer) answer(ctx context.Context, conn *pgx.Conn, s *state) {
	switch a := capture.AskedIn(ctx); {
	case a == nil:
	case a.Own && a.Txn != nil: // of a hook of the pool, which runs statements before this one
	case s.open != nil:
		a.Answer(s.open, false, Outcome)
	case conn.PgConn().TxStatus() == idle:
		a.Answer(t.begin(ctx, ""), true, Outcome)
	}
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (t *Tracer) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	s := stateOf(conn)
	run, _ := ctx.Value(runningKey{}).(*running)
	if run != nil && run.verb == statement.Commit && data.Err == nil {
		t.stamp(ctx, conn.PgConn(), s.open)
	}
	if run != nil && s.follow(run, data.CommandTag, data.Err) == capture.Unknown && !conn.IsClosed() {
		_ = conn.Close(ctx) // there is an error already
	}
	s.lost(conn, capture.Aborted)
}

// TraceRelease implements [pgxpool.ReleaseTracer]: the pool closes a connection with an open
// transaction.
func (t *Tracer) TraceRelease(_ *pgxpool.Pool, data pgxpool.TraceReleaseData) {
	stateOf(data.Conn).end(capture.Aborted)
}

// Of returns the transaction that is open on tx, for operations that no table knows. nil,
// whose methods do nothing, if none is, or the connection has no tracer of this package.
func Of(tx interface{ Conn() *pgx.Conn }) *capture.Txn { return stateOf(tx.Conn()).open }

// idle is the status of a connection outside of a transaction.
const idle = 'I'

// stateName is the name under which a connection keeps its state.
const stateName = "isowatch.capture"

// state is the present activity of a connection.
type state struct {
	open    *capture.Txn // nil outside of a transaction
	begun   *capture.Txn // by a BEGIN in the batch that runs
	commits bool         // the batch that runs holds a COMMIT that is not answered
}

func stateOf(conn *pgx.Conn) *state {
	data := conn.PgConn().CustomData()
	s, ok := data[stateName].(*state)
	if !ok {
		s = &state{}
		data[stateName] = s
	}
	return s
}

func (s *state) end(as capture.Status) {
	s.open.End(as)
	s.open = nil
}

// follow changes the open transaction by a statement that was answered, and returns the
// outcome of a COMMIT, else 0.
func (s *state) follow(run *running, tag pgconn.CommandTag, err error) capture.Status {
	switch {
	case run.begun != nil && err != nil:
		run.begun.Discard()
	case run.begun != nil:
		s.open = run.begun
	case s.open == nil:
	case run.verb == statement.Commit:
		as := Outcome(err)
		if tag.String() == "ROLLBACK" {
			as = capture.Aborted
		}
		s.end(as)
		return as
	case run.verb == statement.Rollback:
		s.end(capture.Aborted)
	case err != nil:
	case run.verb == statement.Prepare:
		s.end(capture.Unknown) // another connection decides
	case run.verb == statement.Savepoint:
		s.open.Savepoint(run.name)
	case run.verb == statement.RollbackTo:
		s.open.RollbackTo(run.name)
	case run.verb == statement.Level:
		s.open.SetIsolation(run.name)
	}
	return 0
}

// lost ends a transaction whose connection is gone, as what is known then. One that ended in
// a way that was not seen has an unknown outcome.
func (s *state) lost(conn *pgx.Conn, as capture.Status) {
	switch {
	case s.open == nil:
	case conn.IsClosed():
		s.end(as)
	case conn.PgConn().TxStatus() == idle:
		s.end(capture.Unknown)
	}
}
