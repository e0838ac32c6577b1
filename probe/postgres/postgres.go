// Package postgres opens PostgreSQL for package probe.
package postgres

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

// Options of a database. Zero fields take the default named.
type Options struct {
	Schema    string             // which is dropped and made again; default isowatch_probe
	Isolation sql.IsolationLevel // default: what the database is set to
	// Versions adds xmin, the id of the transaction that wrote a row, to reads and writes. It
	// tells versions with the same value apart. It is not their order, and the two writes of a
	// transaction that writes a row twice share it.
	Versions bool
}

// Open reads a URL or a connection string; it does not connect yet.
func Open(url string, o Options) (*probe.SQL, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if o.Schema == "" {
		o.Schema = "isowatch_probe"
	}
	schema := pgx.Identifier{o.Schema}.Sanitize()
	config.RuntimeParams["search_path"] = schema
	d := dialect()
	d.Isolation = o.Isolation
	d.Reset = []string{"DROP SCHEMA IF EXISTS " + schema + " CASCADE", "CREATE SCHEMA " + schema}
	for _, columns := range tables {
		d.Reset = append(d.Reset, "CREATE TABLE "+columns)
	}
	if o.Versions {
		d.Version = "xmin::text"
	}
	return probe.OpenSQL(stdlib.OpenDB(*config), d), nil
}

// tables are the tables with their columns. The collation orders ranges of keys by their bytes.
var tables = []string{
	`registers (k text COLLATE "C" PRIMARY KEY, v text NOT NULL)`,
	`lists (k text COLLATE "C" PRIMARY KEY, v text NOT NULL)`,
	`counters (k text COLLATE "C" PRIMARY KEY, n bigint NOT NULL, ver bigint NOT NULL DEFAULT 1)`,
}

func dialect() probe.Dialect {
	return probe.Dialect{
		Upsert:    "INSERT INTO registers (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
		Append:    "INSERT INTO lists AS l (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = l.v || ',' || excluded.v",
		Numbered:  true,
		Returning: true,
		Outcome:   Outcome,
	}
}

// Outcome is the outcome, as far as it is known, after COMMIT failed with err.
func Outcome(err error) event.Status {
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrTxCommitRollback): // the answer to COMMIT was ROLLBACK
		return event.Aborted
	case !errors.As(err, &refused): // lost connection, time-out
		return event.Unknown
	case refused.Code == "40003", // statement_completion_unknown
		strings.HasPrefix(refused.Code, "08"),  // connection exceptions
		strings.HasPrefix(refused.Code, "57P"): // the server or the session is being ended
		return event.Unknown
	default:
		return event.Aborted
	}
}
