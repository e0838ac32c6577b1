package capture

// SetWriter notes the id under which the database keeps what the transaction wrote: PostgreSQL's
// xmin. It is not recorded. The last one counts.
func (t *Txn) SetWriter(id string) { t.do(func() { t.writer = id }) }

// Writer is the text that SetWriter noted, "" if the transaction has ended.
func (t *Txn) Writer() (id string) {
	t.do(func() { id = t.writer })
	return id
}
