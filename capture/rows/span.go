package rows

import (
	"cmp"
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/capture"
)

// Span is a range of keys.
type Span struct {
	From, To any  // inclusive, exclusive; nil is open
	Desc     bool // the greatest first
	Limit    int  // rows at most; 0: all
}

// Row is one row of a range, to be read by Scan.
type Row struct {
	table   *Table
	cursor  Cursor
	scanned bool
	name    string // of the row, as it is recorded
	value   any
	version string // "": it has none
}

// Scan reads the key and then the columns. It is called once a row, or not at all.
func (r *Row) Scan(into ...any) error {
	if len(into) != 1+len(r.table.Columns) {
		return r.table.fault("Scan of a range needs the key and %d columns", len(r.table.Columns))
	}
	var key string
	var version sql.NullString
	if err := r.cursor.Scan(append(into[:len(into):len(into)], &key, &version)...); err != nil {
		return err
	}
	name, err := r.table.keyOf(key)
	if err != nil {
		return err
	}
	r.scanned, r.name, r.value, r.version = true, name, r.table.valueOf(into[1:]), version.String
	return nil
}

// skip reads a row that nobody asked for.
func (r *Row) skip() error {
	into := make([]any, 1+len(r.table.Columns))
	for i := range into {
		into[i] = new(any)
	}
	return r.Scan(into...)
}

// Range calls each for the rows of a range, in order. When each returns an error, Range ends
// with it. The rows read until then are recorded, as a range that is limited to so many rows.
func (t *Table) Range(ctx context.Context, tx Tx, s Span, each func(*Row) error) error {
	if err := t.check(-1); err != nil {
		return err
	}
	if t.Ranges == NoRanges {
		return t.fault("Range needs Ranges: ByNumber or ByBytes")
	}
	scan, err := t.scanOf(s)
	if err != nil {
		return err
	}
	ctx, asked := capture.Asking(ctx)
	cursor, err := t.rangeText(s).query(ctx, tx)
	if err != nil {
		asked.End(err)
		return err
	}
	read, err := t.readRows(cursor, each)
	if err != nil {
		scan.Limit = len(read)
	}
	failed := cmp.Or(cursor.Err(), cursor.Close())
	if failed == nil && (err == nil || len(read) > 0) {
		t.tellRange(asked.Txn, scan, read)
	}
	asked.End(failed)
	return cmp.Or(err, failed)
}

func (t *Table) readRows(cursor Cursor, each func(*Row) error) (read []*Row, err error) {
	for cursor.Next() {
		r := &Row{table: t, cursor: cursor}
		err := each(r)
		if !r.scanned {
			err = cmp.Or(err, r.skip())
		}
		if r.scanned {
			read = append(read, r)
		}
		if err != nil {
			return read, err
		}
	}
	return read, nil
}

// scanOf is s as it is recorded. An open bound becomes the table's bound: "/" is before "0".
func (t *Table) scanOf(s Span) (scan capture.Scan, err error) {
	scan = capture.Scan{From: t.Name + "/", To: t.Name + "0", Desc: s.Desc, Limit: s.Limit}
	if s.From != nil {
		scan.From, err = t.keyOf(s.From)
	}
	if s.To != nil && err == nil {
		scan.To, err = t.keyOf(s.To)
	}
	return scan, err
}

// rangeText is the query of a range. In PostgreSQL and MySQL texts are compared by their bytes, as the
// monitor does.
func (t *Table) rangeText(s Span) *text {
	key, asText := "@", "CAST(@ AS CHAR)"
	switch t.Dialect {
	case PostgreSQL:
		asText = "@::text"
		if t.Ranges == ByBytes {
			key = `@ COLLATE "C"`
		}
	case SQLite:
		asText = "CAST(@ AS TEXT)"
	case MySQL:
		if t.Ranges == ByBytes {
			key = "BINARY @"
		}
	}
	var where []string
	var args []any
	for _, b := range []struct {
		compare string
		bound   any
	}{{" >= ?", s.From}, {" < ?", s.To}} {
		if b.bound != nil {
			args = append(args, b.bound)
			where = append(where, key+b.compare+strconv.Itoa(len(args)))
		}
	}
	x := t.text(args...).add("SELECT @, " + strings.Join(t.Columns, ", ") + ", " + asText + " AS isowatch_key, " + t.version("") + " FROM #")
	if len(where) > 0 {
		x.add(" WHERE " + strings.Join(where, " AND "))
	}
	x.add(" ORDER BY " + key)
	if s.Desc {
		x.add(" DESC")
	}
	if s.Limit > 0 {
		x.add(" LIMIT " + strconv.Itoa(s.Limit))
	}
	return x
}

func (x *text) query(ctx context.Context, tx Tx) (Cursor, error) {
	return tx.Query(ctx, x.String(), x.args...)
}
