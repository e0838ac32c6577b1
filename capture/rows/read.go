package rows

import (
	"context"
	"database/sql"

	"github.com/isowatch/isowatch/capture"
)

// Get reads the row's columns into what into points to. It says whether there is one.
func (t *Table) Get(ctx context.Context, tx Tx, key any, into ...any) (found bool, err error) {
	return t.get(ctx, tx, key, "", into)
}

// GetForUpdate is Get with a lock on the row, to the end of the transaction. SQLite has none,
// and needs none.
func (t *Table) GetForUpdate(ctx context.Context, tx Tx, key any, into ...any) (found bool, err error) {
	lock := " FOR UPDATE"
	if t.Dialect == SQLite {
		lock = ""
	}
	return t.get(ctx, tx, key, lock, into)
}

func (t *Table) get(ctx context.Context, tx Tx, key any, lock string, into []any) (found bool, err error) {
	if err := t.check(len(into)); err != nil {
		return false, err
	}
	name, err := t.keyOf(key)
	if err != nil {
		return false, err
	}
	ctx, asked := capture.Asking(ctx)
	var version sql.NullString
	x := t.text(key).add(t.selects() + " FROM # WHERE @ = ?1" + lock)
	found, err = x.one(ctx, tx, append(into[:len(into):len(into)], &version)...)
	if err == nil {
		t.read(asked.Txn, name, found, into, version.String)
	}
	asked.End(err)
	return found, err
}
