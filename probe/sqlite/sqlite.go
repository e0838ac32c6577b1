// Package sqlite opens files of SQLite for package probe.
package sqlite

import (
	"database/sql"
	"errors"
	"net/url"
	"strings"

	"modernc.org/sqlite"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

// Open reads nothing yet. The file is made if need be, with a write-ahead log.
func Open(file string) (*probe.SQL, error) {
	db, err := connect(file, patience, "journal_mode(WAL)", "synchronous(NORMAL)")
	if err != nil {
		return nil, err
	}
	return probe.OpenSQL(db, dialect("")), nil
}

// patience is a pragma: a session that finds the file locked waits for as long as a
// transaction may.
const patience = "busy_timeout(5000)"

// connect leaves what belongs to the file as it is, unless pragmas change it.
func connect(file string, pragmas ...string) (*sql.DB, error) {
	name := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: url.Values{
		"_pragma": pragmas,
	}.Encode()}).String()
	return sql.Open("sqlite", name)
}

// tables are the tables with their columns.
var tables = []string{
	"registers (k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID",
	"lists (k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID",
	"counters (k TEXT PRIMARY KEY, n INTEGER NOT NULL, ver INTEGER NOT NULL DEFAULT 1) WITHOUT ROWID",
}

// oldCounters are the columns that counters had in earlier builds: a probe that was killed has left them.
const oldCounters = "(k TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID"

// columnsOf are the columns of a table that a probe made, by its name.
func columnsOf(name string) string {
	for _, t := range tables {
		table, columns, _ := strings.Cut(t, " ")
		if strings.HasSuffix(name, "_"+table) {
			return columns
		}
	}
	return ""
}

func dialect(prefix string) probe.Dialect {
	d := probe.Dialect{
		Prefix:    prefix,
		Upsert:    "INSERT INTO registers (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
		Append:    "INSERT INTO lists (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = v || ',' || excluded.v",
		Returning: true,
		Outcome:   Outcome,
	}
	for _, t := range tables {
		name, _, _ := strings.Cut(t, " ")
		d.Reset = append(d.Reset, "DROP TABLE IF EXISTS "+name)
	}
	for _, t := range tables {
		d.Reset = append(d.Reset, "CREATE TABLE "+t)
	}
	return d
}

// Result codes of SQLite, without their upper bits, with which a commit is refused.
// The driver then rolls back.
const (
	busy       = 5
	locked     = 6
	constraint = 19
)

// Outcome is the outcome, as far as it is known, after COMMIT failed with err.
func Outcome(err error) event.Status {
	var refused *sqlite.Error
	if errors.As(err, &refused) {
		switch refused.Code() & 0xff {
		case busy, locked, constraint:
			return event.Aborted
		}
	}
	return event.Unknown
}
