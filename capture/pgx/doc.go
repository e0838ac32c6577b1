// Package pgx records the transactions of github.com/jackc/pgx/v5, with or without its pool:
//
//	config.ConnConfig.Tracer = capturepgx.New(recorder)
//
// It sees begin, commit, rollback, savepoints, the outcome, isolation, start and end. It takes the
// session, the name, the trace id and the labels from the context of Begin ([capture.WithSession],
// [capture.WithBegin]). [Of] tells the id, for a log. Batches are followed; their data are
// not seen. CopyFrom, pipelines of pgconn and what a text of several statements does behind its
// first one are not seen either.
//
// Data come from the tables of package rows, with [Rows], or are told to the transaction
// that [Of] returns. A program with a tracer of its own combines them by pgx's package multitracer.
//
// A program that uses pgx by database/sql takes [capture.Connector] with [Outcome] instead.
package pgx
