package oracle

import (
	"testing"

	"github.com/isowatch/isowatch/internal/workload"
)

// TestCheckTracked: an anti-dependency on a transaction that asked for less is promised in
// Adya's mixing-correct histories, and not where conflicts are tracked among serializable
// transactions only. Snapshots are promised in both.
func TestCheckTracked(t *testing.T) {
	h, err := workload.Parse("txn T1: read x nil, write y 1\ntxn R: read x nil, write x 1\ntxn T3: read x 1, read y nil\n")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]string{"R": "read-committed"}
	if !CheckAsked(h, asked).Violated[Serializable] || CheckAsked(h, asked).Violated[Snapshot] {
		t.Error("mixing-correct: want serializable violated, snapshot isolation not")
	}
	if v := CheckTracked(h, asked).Violated; v[Serializable] || v[Snapshot] {
		t.Error("tracked: nothing is violated")
	}
	h, err = workload.Parse("txn R: write x 1, write y 1\ntxn T1: read x 1, read y nil\n")
	if err != nil {
		t.Fatal(err)
	}
	if v := CheckTracked(h, asked).Violated; !v[Serializable] || !v[Snapshot] {
		t.Error("tracked: a fractured read is violated")
	}
}
