package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"modernc.org/sqlite"

	"github.com/isowatch/isowatch/probe"
)

// tablesPrefix begins the name of every table of a probe: the epoch and what the table
// holds follow.
const tablesPrefix = "isowatch_probe_"

// ours are names that only a probe gives.
var ours = regexp.MustCompile(`^isowatch_probe_[a-z0-9]+_(registers|lists|counters)$`)

// Epoch is a file with tables that only one run of a probe uses.
type Epoch struct {
	*probe.SQL
	file string
	lock *sql.DB
}

// OpenEpoch opens a file that may be somebody else's: its journal stays as it is, and no
// other table is touched. Tables that earlier epochs left are dropped. name has lower-case
// letters and digits only. A second probe of the file is refused until [Epoch.Close].
func OpenEpoch(ctx context.Context, file, name string) (*Epoch, error) {
	if !ours.MatchString(tablesPrefix + name + "_lists") {
		return nil, fmt.Errorf("the epoch %q: want lower-case letters and digits", name)
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", file)
	}
	lock, err := takeLock(ctx, file)
	if err != nil {
		return nil, err
	}
	e := &Epoch{file: file, lock: lock}
	db, err := connect(file, patience)
	if err == nil {
		e.SQL = probe.OpenSQL(db, dialect(tablesPrefix+name+"_"))
		err = e.drop(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.release())
	}
	return e, nil
}

// lockFile is beside the file. It holds a lock, which ends with the process, and no data.
func lockFile(file string) string { return file + "-isowatch-probe" }

// takeLock keeps other probes out: SQLite has no advisory locks in a database, and the
// lock of the whole file would keep everybody out.
func takeLock(ctx context.Context, file string) (*sql.DB, error) {
	lock, err := connect(lockFile(file), "busy_timeout(0)")
	if err != nil {
		return nil, err
	}
	lock.SetMaxOpenConns(1)
	if _, err = lock.ExecContext(ctx, takeFile); err == nil {
		return lock, nil
	}
	var refused *sqlite.Error
	if errors.As(err, &refused) && refused.Code()&0xff == busy {
		err = fmt.Errorf("another probe is running on %s", file)
	}
	return nil, errors.Join(err, lock.Close())
}

const (
	takeFile   = "BEGIN EXCLUSIVE"
	listTables = "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
)

// drop drops the tables of all epochs.
func (e *Epoch) drop(ctx context.Context) error {
	rows, err := e.DB.QueryContext(ctx, listTables)
	if err != nil {
		return err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name, made string
		if err := rows.Scan(&name, &made); err != nil {
			return err
		}
		if !ours.MatchString(name) {
			continue
		}
		if !strings.HasSuffix(made, columnsOf(name)) && !strings.HasSuffix(made, oldCounters) {
			return fmt.Errorf("the table %q has the name of a probe's, and other columns: rename it", name)
		}
		names = append(names, name)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(names) == 0 {
		return err
	}
	_, err = e.DB.ExecContext(ctx, "BEGIN IMMEDIATE; DROP TABLE "+strings.Join(names, "; DROP TABLE ")+"; COMMIT")
	return err
}

// Close drops the tables, and lets another probe begin.
func (e *Epoch) Close() error {
	return errors.Join(e.drop(context.Background()), e.release())
}

func (e *Epoch) release() error {
	var err error
	if e.SQL != nil {
		err = e.SQL.Close()
	}
	return errors.Join(err, os.Remove(lockFile(e.file)), e.lock.Close())
}
