package rows

import (
	"slices"
	"strconv"
	"strings"
)

// text builds a statement with its arguments.
type text struct {
	strings.Builder
	t    *Table
	args []any
}

func (t *Table) text(args ...any) *text {
	x := &text{t: t, args: args}
	x.Grow(256) // most are shorter
	return x
}

// add writes s, in which "#" is the table's name, "@" its key, and "?N" argument N, from 1.
func (x *text) add(s string) *text {
	for {
		i := strings.IndexAny(s, "#@?")
		if i < 0 {
			x.WriteString(s)
			return x
		}
		x.WriteString(s[:i])
		switch s[i] {
		case '#':
			x.WriteString(x.t.Name)
		case '@':
			x.WriteString(x.t.Key)
		case '?':
			i++
			x.arg(int(s[i] - '0'))
		}
		s = s[i+1:]
	}
}

// arg refers to argument n. Databases without numbers get arguments in the order in which
// they are referred to, so that each is referred to once and in order.
func (x *text) arg(n int) {
	if x.t.Dialect != PostgreSQL {
		x.WriteByte('?')
		return
	}
	x.WriteByte('$')
	x.WriteString(strconv.Itoa(n))
}

// list writes columns, and the version's where writes give it one, each made by f.
func (x *text) list(f func(n int, column string)) *text {
	columns := x.t.Columns
	if x.t.ownVersion() {
		columns = append(columns[:len(columns):len(columns)], x.t.Version)
	}
	for i, c := range columns {
		if i > 0 {
			x.WriteString(", ")
		}
		f(i, c)
	}
	return x
}

// names writes the columns that writes give values.
func (x *text) names() *text { return x.list(func(_ int, c string) { x.WriteString(c) }) }

// values writes their arguments. The first of them is number from.
func (x *text) values(from int) *text { return x.list(func(n int, _ string) { x.arg(from + n) }) }

// sets writes "column = argument" for each of them.
func (x *text) sets(from int) *text {
	return x.list(func(n int, c string) {
		x.WriteString(c + " = ")
		x.arg(from + n)
	})
}

// taken writes "column = excluded.column", or what MySQL has for it.
func (x *text) taken() *text {
	return x.list(func(_ int, c string) {
		if x.t.Dialect == MySQL {
			x.WriteString(c + " = VALUES(" + c + ")")
		} else {
			x.WriteString(c + " = excluded." + c)
		}
	})
}

// version is an expression that gives a row's version as text, NULL without one.
func (t *Table) version(of string) string {
	switch {
	case t.versionColumn() == "":
		return "NULL"
	case t.Dialect != PostgreSQL:
		return of + t.Version
	default:
		return of + t.Version + "::text"
	}
}

func (t *Table) selects() string {
	return "SELECT " + strings.Join(t.Columns, ", ") + ", " + t.version("")
}

// replaced is a query of the version that a row has before it is written. It locks the row as
// the write does. So under read committed too, this version is the one that is replaced.
func (t *Table) replaced() string {
	return "SELECT @ AS isowatch_key, " + t.version("") + " AS isowatch_version FROM # WHERE @ = ?1 FOR NO KEY UPDATE"
}

func (t *Table) insertText(args []any) *text {
	x := t.text(args...).add("INSERT INTO # (@, ").names().add(") VALUES (?1, ").values(2).add(")")
	if t.Dialect == PostgreSQL {
		x.add(" RETURNING " + t.version(""))
	}
	return x
}

// updateText takes the key first in PostgreSQL, and last elsewhere.
func (t *Table) updateText(args []any) *text {
	if t.Dialect != PostgreSQL {
		return t.text(slices.Concat(args[1:], args[:1])...).add("UPDATE # SET ").sets(2).add(" WHERE @ = ?1")
	}
	return t.text(args...).add("UPDATE # AS isowatch_new SET ").sets(2).add(t.ofReplaced() + " RETURNING " + t.version("isowatch_new.") + ", isowatch_version")
}

func (t *Table) ofReplaced() string {
	return " FROM (" + t.replaced() + ") isowatch_old WHERE isowatch_new.@ = isowatch_key"
}

// incText takes the key, what is added, and a version where writes give one.
func (t *Table) incText(args []any) *text {
	c := t.Columns[0]
	sets := c + " = " + c + " + ?2"
	if t.Dialect == PostgreSQL {
		sets = c + " = isowatch_new." + c + " + ?2"
	}
	if t.ownVersion() {
		sets += ", " + t.Version + " = ?3"
	}
	switch t.Dialect {
	case PostgreSQL:
		return t.text(args...).
			add("UPDATE # AS isowatch_new SET " + sets + t.ofReplaced() + " RETURNING isowatch_new." + c + ", " + t.version("isowatch_new.") + ", isowatch_version")
	default:
		return t.text(slices.Concat(args[1:], args[:1])...).add("UPDATE # SET " + sets + " WHERE @ = ?1")
	}
}

// putText inserts the row or updates it. PostgreSQL says which, and what was there: counting
// the rows that are there makes it lock them before it inserts.
func (t *Table) putText(args []any) *text {
	switch t.Dialect {
	case MySQL:
		return t.text(args...).add("INSERT INTO # (@, ").names().add(") VALUES (?1, ").values(2).add(") ON DUPLICATE KEY UPDATE ").taken()
	case SQLite:
		return t.text(args...).add("INSERT INTO # (@, ").names().add(") VALUES (?1, ").values(2).add(") ON CONFLICT (@) DO UPDATE SET ").taken()
	default:
		return t.text(args...).add("WITH isowatch_old AS MATERIALIZED (" + t.replaced() + ") INSERT INTO # AS isowatch_new (@, ").names().
			add(") SELECT ?1, ").values(2).add(" FROM (SELECT count(*) FROM isowatch_old) isowatch_locked ON CONFLICT (@) DO UPDATE SET ").taken().
			add(" RETURNING " + t.version("isowatch_new.") + ", isowatch_new.xmax = 0, (SELECT isowatch_version FROM isowatch_old)")
	}
}

func (t *Table) deleteText(key any) *text {
	x := t.text(key).add("DELETE FROM # WHERE @ = ?1")
	switch {
	case t.Version == XMin:
		x.add(" RETURNING xmin::text, pg_current_xact_id()::xid::text")
	case t.Dialect == PostgreSQL:
		x.add(" RETURNING " + t.version("") + ", NULL")
	}
	return x
}
