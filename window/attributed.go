package window

// Unattributed is a key where the transaction read a value without exactly one known writer.
// some is false when there is no such key. known says that the transaction has not retired.
func (m *Machine) Unattributed(epoch, id string) (key string, some, known bool) {
	n := m.infer.WithID(id, epoch)
	if n == 0 || m.infer.HasRetired(n) {
		return "", false, false
	}
	key, some = m.infer.Unattributed(n)
	return key, some, true
}

// AnyUnattributed is Unattributed of all transactions, for machines that forget
// nothing.
func (m *Machine) AnyUnattributed() (key string, some bool) { return m.infer.AnyUnattributed() }
