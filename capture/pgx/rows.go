package pgx

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/isowatch/isowatch/capture/rows"
)

// Queryer runs statements: pgx.Tx, *pgx.Conn, *pgxpool.Pool, *pgxpool.Conn, *pgxpool.Tx.
type Queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Rows is q as the functions of [rows.Table] take it.
func Rows(q Queryer) rows.Tx { return tx{q} }

type tx struct{ q Queryer }

func (t tx) Query(ctx context.Context, statement string, args ...any) (rows.Cursor, error) {
	r, err := t.q.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	return cursor{r}, nil
}

func (t tx) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	tag, err := t.q.Exec(ctx, statement, args...)
	return tag.RowsAffected(), err
}

type cursor struct{ pgx.Rows }

func (c cursor) Close() error {
	c.Rows.Close()
	return c.Err()
}
