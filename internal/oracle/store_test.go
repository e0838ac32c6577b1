package oracle

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isowatch/isowatch/internal/workload"
)

// observeStore returns what concurrent clients record of a store with the given bugs
// in a second of fake time.
func observeStore(t *testing.T, bugs workload.Bugs) (History, workload.Stats) {
	t.Helper()
	var h History
	store := workload.NewStore(bugs)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var mu sync.Mutex
		cfg := workload.ClientsConfig{Clients: 12, Aborted: 0.05, Unknown: 0.03, Seed: 5}
		if err := workload.RunClients(ctx, store, cfg, func(txn workload.Txn) error {
			mu.Lock()
			defer mu.Unlock()
			h = append(h, txn)
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	return h, store.Stats()
}

// TestStoreBugsShowAsAnomalies runs the live store with one bug at a time. Each
// must show the anomaly that it is named for, and refute only levels that it
// concerns; without bugs the store is strongly session serializable.
func TestStoreBugsShowAsAnomalies(t *testing.T) {
	all := strings.Join([]string{string(Serializable), string(Snapshot), string(SessionSerializable), string(SessionSnapshot)}, " ")
	for _, c := range []struct {
		name    string
		bugs    workload.Bugs
		refutes string // levels
		shows   string // one of the anomalies
		never   []string
	}{
		{"none", workload.Bugs{}, "", "", nil},
		{"lost update", workload.Bugs{LostUpdate: 0.1}, all, "lost-update", []string{"G1a", "G0"}},
		{"write skew", workload.Bugs{WriteSkew: 0.1}, string(Serializable) + " " + string(SessionSerializable), "G2-item", []string{"lost-update", "G-single-item"}},
		{"stale read", workload.Bugs{StaleRead: 0.1}, string(SessionSerializable) + " " + string(SessionSnapshot), "G-single-item-process", []string{"G-single-item", "lost-update"}},
		{"dirty read", workload.Bugs{DirtyRead: 0.2}, all, "G1a", []string{"G0", "duplicate-elements"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, stats := observeStore(t, c.bugs)
			v := Check(h)
			var refuted []string
			for _, l := range Levels() {
				if v.Violated[l] {
					refuted = append(refuted, string(l))
				}
			}
			if got := strings.Join(refuted, " "); got != c.refutes {
				t.Errorf("refutes %q, want %q; %d transactions, %+v, anomalies %v", got, c.refutes, len(h), stats, v.Names())
			}
			if c.shows != "" && !slices.Contains(v.Names(), c.shows) {
				t.Errorf("shows %v, want %s among them", v.Names(), c.shows)
			}
			for _, name := range c.never {
				if slices.Contains(v.Names(), name) {
					t.Errorf("shows %s, which this bug cannot cause", name)
				}
			}
			if v.Graph.Ambiguous > 0 || len(v.Graph.NotSequential) > 0 {
				t.Errorf("%d ambiguous values, sessions %v not sequential", v.Graph.Ambiguous, v.Graph.NotSequential)
			}
		})
	}
}
