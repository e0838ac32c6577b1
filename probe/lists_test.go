package probe_test

import (
	"testing"

	"github.com/isowatch/isowatch/probe"
)

// The tables stay small, whatever a workload does and however long. Of several sessions one
// that waits keeps the lists that it may still use, and all newer ones.
func TestTablesStaySmall(t *testing.T) {
	for _, w := range probe.Workloads() {
		t.Run(w.Name(), func(t *testing.T) {
			t.Parallel()
			db := openFile(t)
			run(t, db, w, probe.Options{Sessions: 1, Keys: 4, Seed: 7, Aborted: 0.1}, 1500)
			for table, most := range map[string]int{"registers": 4 + 3*4, "lists": 3 * 4, "counters": 4} {
				var n int
				if err := db.DB.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
					t.Fatal(err)
				}
				if n > most {
					t.Errorf("%d %s", n, table)
				}
			}
		})
	}
}
