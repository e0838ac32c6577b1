package capture

import (
	"unicode/utf8"

	"github.com/isowatch/isowatch/event/record"
)

// Scan is a query for the keys from From (inclusive) to To (exclusive), in the order
// of their bytes. All keys of a table whose keys begin with "orders/" are those from
// "orders/" to "orders0", since 0 comes behind the slash. A query for a condition on
// other columns is none.
type Scan struct {
	From  string // "": from the first
	To    string // "": to the last
	Desc  bool   // the last ones first: which of them Limit keeps
	Limit int    // how many rows were asked for at most; 0: all
}

// Row is one key with its value, as a scan returned it.
type Row struct {
	Key     string
	Value   any
	Version Detail // what Version makes; the zero Detail: the row tells none
}

// details go with a read of the row.
func (r *Row) details() []Detail {
	if r.Version.kind != detailVersion {
		return nil
	}
	return []Detail{r.Version}
}

// Range tells that the scan returned rows: all of them, and that nothing else is
// there. Under [WithHashedKeys] it is told as reads of the rows alone.
func (t *Txn) Range(s Scan, rows []Row) {
	if t == nil {
		return
	}
	if t.r.opt.HashedKeys {
		t.r.stats.reduced.Add(1)
		for _, row := range rows {
			t.Read(row.Key, row.Value, row.details()...)
		}
		return
	}
	t.do(func() {
		o := &t.scratch.op
		*o = record.Op{Kind: record.Range, From: s.From, To: validText(s.To), Desc: s.Desc, Limit: int64(max(s.Limit, 0))}
		o.HasFrom, o.HasTo = s.From != "", s.To != ""
		if t.r.opt.OneIn > 1 {
			unlimited(o, rows)
		}
		if !utf8.ValidString(o.From) {
			t.fail(noJSON)
		}
		for _, row := range rows {
			if !utf8.ValidString(row.Key) {
				t.fail(noJSON) // what stands for it has another place in the order
			}
			if t.r.opt.samples(row.Key) {
				told := record.Row{Key: t.key(row.Key), Value: t.value(row.Value)}
				if row.Version.kind == detailVersion {
					told.Version = t.version(&row.Version)
				}
				o.Rows = append(o.Rows, told)
			}
		}
		t.add(o)
	})
}

// unlimited makes a scan without a limit of the part that a limited one covered. The limited
// scan ended at its last row. The rows of a sample would say that it went on.
func unlimited(o *record.Op, rows []Row) {
	limit := o.Limit
	o.Limit = 0
	if limit == 0 || int64(len(rows)) < limit {
		return
	}
	last := rows[0].Key
	for _, row := range rows {
		if row.Key != last && (row.Key > last) != o.Desc {
			last = row.Key
		}
	}
	if o.Desc {
		o.From, o.HasFrom = last, true
	} else {
		o.To, o.HasTo = last+"\x00", true // the next text
	}
}
