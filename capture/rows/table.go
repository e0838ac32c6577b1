package rows

import (
	"errors"
	"fmt"
	"strings"
)

// XMin as a table's Version is PostgreSQL's own: the id of the transaction that wrote the
// row. It needs no column. It is not the order of versions, and two writes of one
// transaction share it.
const XMin = "xmin"

// OnlyValues as a table's Version says that no version is recorded: values alone tell. Then
// they must be read as they were written. They are not in numeric(10,2), char(8) and jsonb, or
// where a trigger changes them. A finding there is not a fault of the database.
const OnlyValues = "-"

// Dialect is how a database writes what differs.
type Dialect uint8

const (
	PostgreSQL Dialect = iota
	MySQL              // MariaDB too
	SQLite
)

// Ranges says how the keys of a table are in order.
type Ranges uint8

const (
	NoRanges Ranges = iota
	// ByNumber: keys are integers. They are recorded with 19 digits, so that the order of
	// their texts is theirs: stock/0000000000000000042.
	ByNumber
	// ByBytes: keys are texts, and ranges compare their bytes. In PostgreSQL the column
	// should have COLLATE "C", or ranges use no index.
	ByBytes
)

// Table describes a table whose rows are recorded. Name, Key, Columns and Version go into
// statements as they are: they are the program's, and never a user's input.
//
// A row is recorded under "NAME/KEY". Its value is the value of the one column, or an object of
// several.
type Table struct {
	Name    string   // as SQL takes it
	Key     string   // the column of the primary key: integers, texts, or what has a String method
	Columns []string // what is read and written; at least one
	// Version tells versions of a row with the same values apart. It is XMin, or a text column
	// of at least 26 characters. Each write gives that column a new random text. Every writer
	// of the table must do that. It must be named, OnlyValues if there is none; a Counter has
	// none.
	Version string
	// Counter: the one column begins at 0 and is changed by Inc alone. Insert, Get and
	// Inc are its only functions.
	Counter bool
	// Ranges must be set for Range.
	Ranges  Ranges
	Dialect Dialect // default PostgreSQL
}

// check says what is wrong with the table, or with a call that needs n values.
func (t *Table) check(n int) error {
	switch {
	case t.Name == "" || t.Key == "" || len(t.Columns) == 0:
		return errors.New("rows: a table needs Name, Key and Columns")
	case t.Counter && (len(t.Columns) > 1 || t.Ranges != NoRanges):
		return t.fault("a counter has one column, and no ranges")
	case t.Version == "" && !t.Counter:
		return t.fault("it needs a Version: rows.XMin on PostgreSQL, else a text column, or rows.OnlyValues")
	case t.Version == XMin && t.Dialect != PostgreSQL:
		return t.fault("xmin is PostgreSQL's: name a text column as Version")
	case n >= 0 && n != len(t.Columns):
		return t.fault("%d values are given for the %d columns %s", n, len(t.Columns), strings.Join(t.Columns, ", "))
	}
	return nil
}

func (t *Table) fault(format string, args ...any) error {
	return fmt.Errorf("rows: table %s: %s", t.Name, fmt.Sprintf(format, args...))
}

// written checks a call that writes n values to a row that may be there.
func (t *Table) written(n int, does string) error {
	switch {
	case t.Counter:
		return t.fault("a counter has no %s", does)
	case t.Dialect == MySQL && t.versionColumn() == "":
		return t.fault("%s needs a Version: MySQL does not tell a row that stays as it is from none", does)
	}
	return t.check(n)
}

// ownVersion says whether writes give the version column a value.
func (t *Table) ownVersion() bool { return t.versionColumn() != "" && t.Version != XMin }

// versionColumn is the column that tells versions, "" for none.
func (t *Table) versionColumn() string {
	if t.Version == OnlyValues {
		return ""
	}
	return t.Version
}
