package capture

// savepoint is a place in a transaction to which it can be rolled back.
type savepoint struct {
	name  string
	bytes int // of the encoded operations before it
	ops   int
}

// Savepoint notes that the database has set a savepoint.
func (t *Txn) Savepoint(name string) {
	t.do(func() { t.saved = append(t.saved, savepoint{name, len(t.scratch.ops), t.ops}) })
}

// RollbackTo notes that the database has rolled back to a savepoint. The operations since then
// are taken back: writes had no effect, and reads may have shown these writes.
func (t *Txn) RollbackTo(name string) {
	t.do(func() {
		for i := len(t.saved) - 1; i >= 0; i-- {
			if p := t.saved[i]; p.name == name && t.broken == intact {
				t.saved = t.saved[:i+1] // it can be rolled back to again
				t.scratch.ops, t.ops = t.scratch.ops[:p.bytes], p.ops
				return
			}
		}
	})
}

// Discard forgets a transaction that did not begin after all. There is no record of it.
func (t *Txn) Discard() {
	t.do(func() {
		t.ended = true
		t.r.discard(t)
		t.scratch = nil
	})
}

// discard takes back what Begin of t took.
func (r *Recorder) discard(t *Txn) {
	r.stats.open.Add(-1)
	if t.session != nil {
		t.session.busy.Store(false)
	}
	t.scratch.reset()
	r.free.Put(t.scratch)
}
