package rows

import (
	"context"
	"crypto/rand"
	"database/sql"

	"github.com/isowatch/isowatch/capture"
)

// Insert writes a row that is not there yet. A counter begins at 0: another value is added.
func (t *Table) Insert(ctx context.Context, tx Tx, key any, values ...any) error {
	if err := t.check(len(values)); err != nil {
		return err
	}
	c, err := t.call(ctx, key, values)
	if err != nil {
		return err
	}
	x := t.insertText(c.args)
	if t.Dialect == PostgreSQL {
		_, err = x.one(c.ctx, tx, &c.version)
	} else {
		_, err = x.exec(c.ctx, tx)
	}
	return c.end(err, wasInserted)
}

// Put writes a row, whether it is there or not. In PostgreSQL the record says whether it was
// there, and which version was replaced. In MySQL it says whether it was there. In SQLite it
// says neither.
func (t *Table) Put(ctx context.Context, tx Tx, key any, values ...any) error {
	if err := t.written(len(values), "Put"); err != nil {
		return err
	}
	c, err := t.call(ctx, key, values)
	if err != nil {
		return err
	}
	did := wasWritten
	x := t.putText(c.args)
	if t.Dialect == PostgreSQL {
		var inserted bool
		_, err = x.one(c.ctx, tx, &c.version, &inserted, &c.before)
		if inserted {
			did = wasInserted
		}
	} else {
		var n int64
		n, err = x.exec(c.ctx, tx)
		if t.Dialect == MySQL && n == 1 {
			did = wasInserted
		}
	}
	return c.end(err, did)
}

// Update writes a row that is there. It says whether there is one; none is recorded as a
// read that found nothing.
func (t *Table) Update(ctx context.Context, tx Tx, key any, values ...any) (found bool, err error) {
	if err := t.written(len(values), "Update"); err != nil {
		return false, err
	}
	c, err := t.call(ctx, key, values)
	if err != nil {
		return false, err
	}
	found, err = c.update(tx, t.updateText(c.args), &c.version, &c.before)
	return found, c.endFound(err, found, wasWritten)
}

// Delete removes a row. It says whether there was one, as Update does.
func (t *Table) Delete(ctx context.Context, tx Tx, key any) (found bool, err error) {
	if t.Counter {
		return false, t.fault("a counter has no Delete")
	}
	if err := t.check(-1); err != nil {
		return false, err
	}
	c, err := t.call(ctx, key, nil)
	if err != nil {
		return false, err
	}
	found, err = c.update(tx, t.deleteText(key), &c.before, &c.deleter)
	return found, c.endFound(err, found, wasDeleted)
}

// Inc adds n to the one column of a row in one statement. It says whether there is a row.
// On a counter it is recorded as what it adds. On another table it is a write: in
// PostgreSQL of the sum; elsewhere the sum is not seen, so a version is needed.
func (t *Table) Inc(ctx context.Context, tx Tx, key any, n int64) (found bool, err error) {
	switch {
	case len(t.Columns) != 1:
		return false, t.fault("Inc needs a table of one column")
	case !t.Counter && t.Dialect != PostgreSQL && t.versionColumn() == "":
		return false, t.fault("Inc needs a Version, or a Counter")
	}
	if err := t.check(1); err != nil {
		return false, err
	}
	c, err := t.call(ctx, key, []any{n})
	if err != nil {
		return false, err
	}
	var sum int64
	found, err = c.update(tx, t.incText(c.args), &sum, &c.version, &c.before)
	if !t.Counter {
		c.values = []any{sum}
		if t.Dialect != PostgreSQL {
			c.values = nil
		}
	}
	return found, c.endFound(err, found, wasAdded)
}

// call is one call of a function that writes.
type call struct {
	t      *Table
	ctx    context.Context
	asked  *capture.Asked
	name   string // of the row, as it is recorded
	values []any  // of its columns; nil: not known
	args   []any  // of the statement: the key, the values, a version where writes give one

	version, before sql.NullString // of the row that was written, and of what it replaced
	deleter         sql.NullString // the transaction that deleted it, with XMin
}

func (t *Table) call(ctx context.Context, key any, values []any) (*call, error) {
	name, err := t.keyOf(key)
	if err != nil {
		return nil, err
	}
	c := &call{t: t, name: name, values: values, args: append([]any{key}, values...)}
	if t.ownVersion() {
		c.version = sql.NullString{String: rand.Text(), Valid: true}
		c.args = append(c.args, c.version.String)
	}
	c.ctx, c.asked = capture.Asking(ctx)
	return c, nil
}

// update runs a statement that writes one row, or finds none. into receives the row that it
// returns, where it can.
func (c *call) update(tx Tx, x *text, into ...any) (found bool, err error) {
	if c.t.Dialect == PostgreSQL {
		return x.one(c.ctx, tx, into...)
	}
	n, err := x.exec(c.ctx, tx)
	return n > 0, err
}
