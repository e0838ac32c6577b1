package window

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Where a row is not its key (isolation.Rules), a transaction may insert a row at a key whose row
// somebody has deleted since the transaction's snapshot. The snapshot still has the deleted row, so
// the transaction finds both. Seen on PostgreSQL 15 at REPEATABLE READ: see TestOldRow in capture/pgx.
// So a read behind an own write may return another value. It must be the value that the transaction
// had read before, if it had read the key. It is a misread only if nobody deleted the key meanwhile.

// misread is the name of a transaction that read a key otherwise than it had written or read it.
const misread = "internal"

// oldRowsOf are the keys at which a deletion explains what f reports.
func (o *core) oldRowsOf(f *openFinding) []string {
	if !o.cfg.Rules.Rows || f.Finding.Anomaly != misread || len(f.members) != 1 {
		return nil
	}
	r := o.record(f.members[0])
	return oldRows(&r)
}

// unshown says whether f, which is about the key, rests on a range that lacks it, while nothing tells that
// the key is a register. A counter is in no range.
func (o *core) unshown(f *openFinding, key string) bool {
	if f.Finding.Anomaly != misread || len(f.members) != 1 || o.infer.IsRegister(key, f.Finding.Epoch) {
		return false
	}
	r := o.record(f.members[0])
	return isolation.Unshown(&r, key)
}

// forTrial is the record of n for a trial of orders. A read of an old row shows what n itself wrote.
// That row was there too, and no order of the transactions explains the other one.
func (o *core) forTrial(n uint32) event.Record {
	r := o.record(n)
	if !o.cfg.Rules.Rows {
		return r
	}
	old := oldRows(&r)
	if len(old) == 0 {
		return r
	}
	ops, own := slices.Clone(r.Ops), map[string]value{}
	for i := range ops {
		x := &ops[i]
		switch x.Kind {
		case event.Write, event.Insert:
			own[x.Key] = value{text: x.Value, version: x.Version}
		case event.Read:
			if v, wrote := own[x.Key]; wrote && slices.Contains(old, x.Key) {
				x.Value, x.Version = v.text, v.version
			}
		case event.Range:
			x.Rows = slices.Clone(x.Rows)
			for j := range x.Rows {
				if v, wrote := own[x.Rows[j].Key]; wrote && slices.Contains(old, x.Rows[j].Key) {
					x.Rows[j].Value, x.Rows[j].Version = v.text, v.version
				}
			}
		}
	}
	r.Ops = ops
	return r
}

// oldRows are the keys at which t read, behind its own write, what may be the row of its snapshot.
// It is empty if t contradicts itself at another register, too. O(n) time for n operations and rows.
func oldRows(t *event.Record) (keys []string) {
	at := map[string]*rowsMet{}
	of := func(key string) *rowsMet {
		x := at[key]
		if x == nil {
			x = &rowsMet{}
			at[key] = x
		}
		return x
	}
	for i := range t.Ops {
		switch o := &t.Ops[i]; {
		case o.Kind == event.Range:
			for j := range o.Rows {
				of(o.Rows[j].Key).read(value{text: o.Rows[j].Value, version: o.Rows[j].Version})
			}
		case o.Kind == event.Read && o.Flags&event.IsArray == 0:
			of(o.Key).read(value{o.Value, o.Version, o.Flags&event.NotFound != 0})
		case o.Kind == event.Write || o.Kind == event.Insert:
			of(o.Key).own = &value{o.Value, o.Version, o.Flags&event.NotFound != 0}
		default: // not a register, or a deletion, which fails at an old row
			of(o.Key).other = true
		}
	}
	for key, x := range at {
		switch {
		case x.wrong && !x.other:
			return nil
		case x.old && !x.wrong && !x.other:
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// rowsMet holds the rows that a transaction met at one key so far.
type rowsMet struct {
	first *value // of its snapshot
	own   *value // its latest write
	old   bool   // it read the first one behind its own write
	wrong bool   // it read what is neither
	other bool   // it did what oldRows does not follow
}

func (x *rowsMet) read(v value) {
	switch {
	case x.own != nil && x.own.is(v):
	case x.first == nil && (x.own == nil || !v.nothing):
		x.first, x.old = &v, x.own != nil
	case x.first == nil || !x.first.is(v):
		x.wrong = true
	case x.own != nil:
		x.old = x.old || !v.nothing
		x.wrong = x.wrong || v.nothing
	}
}

// value is the content of a register by a read or a write.
type value struct {
	text, version string
	nothing       bool
}

// is compares by versions where both have one.
func (v value) is(o value) bool {
	if v.version != "" && o.version != "" {
		return v.version == o.version
	}
	return v.text == o.text && v.nothing == o.nothing
}
