package epoch

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/isowatch/isowatch/probe"
)

// closing bounds what is done at the end: the database may be gone.
const closing = 10 * time.Second

// Tables are the tables of one epoch, in a schema that holds no others.
type Tables struct {
	*probe.SQL
	Schema string
	Lock   *Lock   // nil until it is taken
	Locks  *sql.DB // for the lock's connection alone
	// List is the schema's tables.
	List func(ctx context.Context) ([]Table, error)
	// Name is a table's in a statement.
	Name func(table string) string
}

// Open implements [probe.Database].
func (t *Tables) Open(ctx context.Context) (probe.Session, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	return t.SQL.Open(ctx)
}

// Err says that another probe has the lock now, and has dropped the tables; until then it is
// nil.
func (t *Tables) Err() error { return t.Lock.Err() }

// Enter makes the schema with the statement create if the query there does not see it. Otherwise it drops the tables of
// earlier epochs. may, where it is not nil, is an error if the user lacks a right on the schema.
func (t *Tables) Enter(ctx context.Context, there, create string, may func(context.Context) error) error {
	var found bool
	if err := t.DB.QueryRowContext(ctx, there, t.Schema).Scan(&found); err != nil {
		return err
	}
	if !found {
		_, err := t.DB.ExecContext(ctx, create)
		return err
	}
	if may != nil {
		if err := may(ctx); err != nil {
			return err
		}
	}
	return t.Drop(ctx)
}

// List reads the tables of the schema with a query for their names and comments.
func List(ctx context.Context, db *sql.DB, query, schema string) ([]Table, error) {
	rows, err := db.QueryContext(ctx, query, schema)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Table
	for rows.Next() {
		var t Table
		if err := rows.Scan(&t.Name, &t.Comment); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

// Drop drops the tables of all epochs, and is an error if somebody else's are among them.
func (t *Tables) Drop(ctx context.Context) error {
	tables, err := t.List(ctx)
	if err != nil {
		return err
	}
	names, err := Ours(t.Schema, tables)
	if err != nil || len(names) == 0 {
		return err
	}
	for i := range names {
		names[i] = t.Name(names[i])
	}
	_, err = t.DB.ExecContext(ctx, "DROP TABLE "+strings.Join(names, ", "))
	return err
}

// Close drops the tables, gives the lock back and closes all connections.
func (t *Tables) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	err := t.Err() // then the tables are the other probe's
	if err == nil {
		err = t.Drop(ctx)
	}
	return errors.Join(err, t.Abandon())
}

// Abandon closes all connections and leaves the tables.
func (t *Tables) Abandon() error {
	if t.Lock != nil {
		t.Lock.Close()
	}
	return errors.Join(t.Locks.Close(), t.SQL.Close())
}
