package app

import "testing"

// A table fills with what is committed. The next one is empty.
func TestUntouched(t *testing.T) {
	const table = 16 * mib
	for _, c := range []struct{ table, committed, want int64 }{
		{0, 5, 0}, {table, 0, table}, {table, 4 * mib, 10 * mib}, {table, 12 * mib, 14 * mib}, {table, 1000 * mib, 4 * mib},
	} {
		if got := untouched(c.table, c.committed); got != c.want {
			t.Errorf("after %d bytes, %d of a table of %d are untouched, want %d", c.committed, got, c.table, c.want)
		}
	}
}
