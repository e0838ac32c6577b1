package pgx

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/capture/internal/statement"
)

// TraceBatchStart implements [pgx.BatchTracer]. A transaction that the batch begins has
// begun before it is sent.
func (t *Tracer) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	s := stateOf(conn)
	for _, q := range data.Batch.QueuedQueries {
		switch verb, level := statement.Parse(q.SQL); {
		case verb == statement.Begin && s.open == nil && s.begun == nil:
			s.begun = t.begin(ctx, level)
		case verb == statement.Commit:
			s.commits = true
		}
	}
	return ctx
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (t *Tracer) TraceBatchQuery(_ context.Context, conn *pgx.Conn, data pgx.TraceBatchQueryData) {
	run := &running{}
	if run.verb, run.name = statement.Parse(data.SQL); run.verb == statement.Other {
		return
	}
	s := stateOf(conn)
	if run.verb == statement.Begin && s.open == nil {
		run.begun, s.begun = s.begun, nil
	}
	if run.verb == statement.Commit {
		s.commits = false
	}
	s.follow(run, data.CommandTag, data.Err)
}

// TraceBatchEnd implements [pgx.BatchTracer].
func (t *Tracer) TraceBatchEnd(_ context.Context, conn *pgx.Conn, _ pgx.TraceBatchEndData) {
	s := stateOf(conn)
	s.begun.Discard()
	as := capture.Aborted
	if s.commits {
		as = capture.Unknown // the COMMIT may have been carried out
	}
	s.begun, s.commits = nil, false
	s.lost(conn, as)
}
