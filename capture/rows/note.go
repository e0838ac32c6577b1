package rows

import (
	"cmp"

	"github.com/isowatch/isowatch/capture"
)

// read tells what was read of a row.
func (t *Table) read(txn *capture.Txn, name string, found bool, columns []any, version string) {
	switch {
	case !found:
		txn.ReadNothing(name)
	case t.Counter:
		if n, ok := integer(columns[0]); ok {
			txn.ReadCounter(name, n)
		}
	case version != "":
		txn.Read(name, t.valueOf(columns), capture.Version(version))
	default:
		txn.Read(name, t.valueOf(columns))
	}
}

// did is the effect of a call on its row.
type did uint8

const (
	wasInserted did = iota
	wasWritten      // whether or not it was there
	wasDeleted
	wasAdded
)

// end tells what a call did that was answered with err, and ends a transaction of its own.
// A write that may have happened is told: the outcome says the rest.
func (c *call) end(err error, d did) error {
	if err == nil || c.asked.Own {
		c.tell(d)
	}
	c.asked.End(err)
	return err
}

// endFound is end of a call that may have found no row.
func (c *call) endFound(err error, found bool, d did) error {
	if err == nil && !found {
		c.asked.Txn.ReadNothing(c.name)
		c.asked.End(nil)
		return nil
	}
	return c.end(err, d)
}

func (c *call) tell(d did) {
	txn := c.asked.Txn
	if c.t.Version == XMin && c.writer() != "" {
		txn.SetWriter(c.writer())
	}
	if c.t.Counter {
		if n, ok := integer(c.values[0]); ok && n != 0 {
			txn.Inc(c.name, n)
		}
		return
	}
	var details []capture.Detail
	if c.before.String != "" {
		details = append(details, capture.PrevVersion(c.before.String))
	}
	if d == wasDeleted {
		txn.Delete(c.name, details...)
		return
	}
	value := c.value()
	if c.version.String != "" {
		details = append(details, capture.Version(c.version.String))
	}
	if d == wasInserted {
		txn.Insert(c.name, value, details...)
	} else {
		txn.Write(c.name, value, details...)
	}
}

// writer is the id of the transaction, as the database keeps it with the row.
func (c *call) writer() string { return cmp.Or(c.version.String, c.deleter.String) }

// value is the value that the call wrote. A sum that was not seen is recorded as the version
// that it has.
func (c *call) value() any {
	if c.version.String != "" && c.values == nil {
		return c.version.String
	}
	return c.t.valueOf(c.values)
}

// integer is the content of a counter, or the amount given to it.
func integer(v any) (int64, bool) {
	switch n := plainOf(v).(type) {
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case int16:
		return int64(n), true
	}
	return 0, false
}

// tellRange tells what a range returned.
func (t *Table) tellRange(txn *capture.Txn, scan capture.Scan, read []*Row) {
	rows := make([]capture.Row, len(read))
	for i, r := range read {
		rows[i] = capture.Row{Key: r.name, Value: r.value}
		if r.version != "" {
			rows[i].Version = capture.Version(r.version)
		}
	}
	txn.Range(scan, rows)
}
