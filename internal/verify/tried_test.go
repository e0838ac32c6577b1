package verify

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/workload"
)

// recordsOf decodes transactions as scenarios write them.
func recordsOf(t *testing.T, text string) []event.Record {
	t.Helper()
	txns, err := workload.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var rs []event.Record
	for i := range txns {
		var d event.Decoder
		b := &event.Batch{Partitions: []string{"test"}}
		d.Decode(b, event.Position{}, workload.AppendJSON(nil, &txns[i]))
		if len(b.Bad) > 0 {
			t.Fatal(b.Bad[0].Reason)
		}
		b.Pack()
		r, err := event.ReadRecord(b.PackedRecord(&b.Txns[0]))
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

// TestVerifyTried: what has no order at a level is accepted, and refused at every weaker one.
func TestVerifyTried(t *testing.T) {
	for _, x := range []struct{ what, txns, falls, holds string }{
		{"found nothing between an insert and the only delete, and read what came behind it", `
txn T1: insert x 1, insert z 1
txn T2: read x 1, delete x
txn T3: read z 1, read x nil, insert y 2
txn T4: read y 2, read x 1`, "causal", "read-atomic"},
		{"an append that was tried again, and half of what came with it", `
txn T1 status=unknown: append l 1
txn T2: append l 1, append x 2
txn T3: append l 3
txn T4: read l [1,3,1], read x []`, "monotonic-atomic-view", "read-committed"},
		{"appended once, and shown twice by who did", "txn T1: append l 1, read l [1,1]\ntxn T2: append l 2", "read-uncommitted", ""},
		{"what two wrote over", "txn T1: write x 1, write x 2\ntxn T2: write x 1, write x 3\ntxn T3: read x 1", "read-committed", "read-uncommitted"},
		{"an element that two removed again", "txn T1: add s 1, remove s 1\ntxn T2: add s 1, remove s 1\ntxn T3: read s {1}", "read-committed", "read-uncommitted"},
		{"an element of nobody, which one removed who added another", "txn T1: add s 1, remove s 2\ntxn T2: read s {2}", "", "serializable"},
		{"what a cas wrote, and its transaction wrote over", "txn T1: cas x nil 7, write x 8\ntxn T2: read x 7", "read-committed", "read-uncommitted"},
		{"what a cas that failed would have written", "txn T1: cas x 5 7 failed, write x 8\ntxn T2: read x 7", "", "serializable"},
		{"an element that is added again", "txn T1: add s 1, remove s 1, add s 1\ntxn T2: read s {1}", "", "serializable"},
		{"an append that its transaction reads", "txn T1: append l 1, read l [1]", "", "read-uncommitted"},
		{"a sum of none", "txn T1: inc c 1\ntxn T2: inc c 3\ntxn T3: count c 2", "read-committed", "read-uncommitted"},
		{"two sums that exclude each other", `
txn T1: inc c 1
txn T2: inc c 2
txn T3: count c 1
txn T4: count c 2`, "read-committed", "read-uncommitted"},
		{"write skew over what was deleted", `
txn T1: insert x 1, insert y 1
txn T2: read x 1, read y 1, delete x
txn T3: read x 1, read y 1, delete y`, "serializable", "snapshot-isolation"},
		{"a lost update of a deleted key", `
txn T1: insert x 1
txn T2: read x 1, delete x
txn T3: read x nil, insert x 2
txn T4: read x 1, write x 3
txn T5: read x 2`, "snapshot-isolation", "prefix"},
		{"a part of a set", "txn T1: add s 1, add s 2\ntxn T2: read s {1}", "monotonic-atomic-view", "read-committed"},
		{"a part of a range", "txn T1: insert x1 1, insert x2 2\ntxn T2: range x..y [x1=1]", "monotonic-atomic-view", "read-committed"},
		{"a session that goes back", "txn T1 session=s seq=1: insert x 1\ntxn T2 session=s seq=2: read x nil", "strong-session-read-atomic", "serializable"},
		{"a stale read", "txn T1 start=1 end=2: inc c 1\ntxn T2 start=3 end=4: count c 0", "strong-causal", "strong-monotonic-atomic-view"},
		{"a list that was misread, of one who came later", `
txn T1: append l 1, read l [1,2], write x 1
txn T2: read x 1, append l 2`, "read-committed", "read-uncommitted"},
		{"a cas that failed", "txn T1: cas x nil 1\ntxn T2: read x 1, cas x 1 2 failed", "read-atomic", "read-uncommitted"},
		{"who reads before its writer in time", "txn T1 start=1 end=2: read x 1\ntxn T2 start=3 end=4: insert x 1", "generalized-snapshot-isolation", "snapshot-isolation"},
		{"lists that part", "txn T1: append l 1\ntxn T2: append l 2\ntxn T3: read l [1]\ntxn T4: read l [2]", "read-uncommitted", ""},
		{"lists in two orders", "txn T1: append l 1\ntxn T2: append l 2\ntxn T3: read l [1,2]\ntxn T4: read l [2,1]", "read-uncommitted", ""},
		{"an element of others", "txn T1: append l 1\ntxn T2: read l [1,9]", "", "serializable"},
		{"a list that lacks its end", "txn T1 session=s seq=1: append l 1, insert y 1\ntxn T2 session=s seq=2: read y 1, read l []", "monotonic-atomic-view", "read-committed"},
		{"a list of unknown outcome, and seen", "txn T1 status=unknown: append l 1, insert y 1\ntxn T2: read l [1], read y nil", "monotonic-atomic-view", "read-committed"},
		{"a list of unknown outcome, and not seen", "txn T1 status=unknown: append l 1\ntxn T2: read l []", "", "serializable"},
		{"a list in which the own append is first", "txn T1: append l 1, read l [1,2]\ntxn T2: append l 2", "monotonic-atomic-view", "read-committed"},
		{"a key that was deleted by an unknown one", "txn T1: insert x 1\ntxn T2 status=unknown: delete x\ntxn T3 session=s seq=1: read x 1\ntxn T4 session=s seq=2: read x nil", "", "serializable"},
		{"what an unknown one did not find", "txn T1 session=s seq=1: insert x 1\ntxn T2 session=s seq=2 status=unknown: read x nil, insert y 1\ntxn T3: read y 1", "", "strong-session-serializable"},
		{"a cas that succeeded on nothing", "txn T1 session=s seq=1: insert x 1\ntxn T2 session=s seq=2: cas x nil 2", "strong-session-read-atomic", "read-atomic"},
		{"a counter that is read alone", "txn T1 session=s seq=1: inc c 1\ntxn T2 session=s seq=2: count c 0", "strong-session-read-atomic", "serializable"},
		{"an own increment", "txn T1: inc c 2, count c 3\ntxn T2: inc c 2", "read-committed", "read-uncommitted"},
		{"snapshots of two states in a session", "txn T1 session=s seq=1: insert x 1\ntxn T2: insert y 1\ntxn T3 session=s seq=2: read x nil, read y 1", "strong-session-snapshot-isolation", "snapshot-isolation"},
		{"a past of a past", "txn T1: insert x 1\ntxn T2: read x 1, insert y 1\ntxn T3: read y 1, insert z 1\ntxn T4: read z 1, read x nil", "causal", "read-atomic"},
		{"a cas that failed writes nothing", "txn T1 session=s seq=1: insert x 1\ntxn T2 session=s seq=2: cas x 5 6 failed\ntxn T3 session=s seq=3: read x 1", "", "strong-session-serializable"},
		{"an own delete", "txn T1 session=s seq=1: insert x 1\ntxn T2 session=s seq=2: delete x, read x nil", "", "strong-session-serializable"},
		{"a cas that failed, and saw what was gone", "txn T1 session=s seq=1: insert x 1\ntxn T2 session=s seq=2: write x 2\ntxn T3 session=s seq=3: cas x 5 6 saw 1", "strong-session-read-atomic", "read-atomic"},
		{"a cas of unknown outcome that says nothing", "txn T1 status=unknown: cas x nil 1 failed, insert y 1\ntxn T2: read y 1", "", "serializable"},
		{"a cas that did not find what was there", "txn T1: insert x 1\ntxn T2: cas x 2 3 failed", "", "serializable"},
		{"a range beside a set of a name within", "txn T1 session=s seq=1: add s 1\ntxn T2 session=s seq=2: range r..t []", "", "strong-session-serializable"},
		{"a range beside a key without", "txn T1 session=s seq=1: insert y 1\ntxn T2 session=s seq=2: range a..b []", "", "strong-session-serializable"},
		{"what is read again is not what was written over", "txn T1: insert x 1\ntxn T3: read x 1, read x 4, write x 2\ntxn T4: read x 2, write x 4", "read-committed", "read-uncommitted"},
		{"two who wrote over each other, beside another read", "txn T1: read y nil, read x 2, write x 1\ntxn T2: read y nil, read x 1, write x 2", "read-uncommitted", ""},
		{"a set that is read as an array", "txn T1 session=s seq=1: add s 1\ntxn T2 session=s seq=2: read s []", "strong-session-read-atomic", "read-atomic"},
		{"sums that are read plainly", "txn T1: inc c 1\ntxn T2: inc c 2\ntxn T3: read c 1\ntxn T4: read c 2", "read-committed", "read-uncommitted"},
		{"a sum of nothing", "txn T1: count c 0\ntxn T2: read c 5", "read-committed", "read-uncommitted"},
		{"a counter that was not found", "txn T1 session=s seq=1: inc c 1\ntxn T2 session=s seq=2: read c nil", "strong-session-read-atomic", "serializable"},
		{"a counter that one of unknown outcome did not find", "txn T1 session=s seq=1: inc c 1\ntxn T2 session=s seq=2 status=unknown: read c nil, insert y 1\ntxn T3: read y 1", "", "strong-session-serializable"},
		{"a list that one of unknown outcome found empty", "txn T1 session=s seq=1: append l 1\ntxn T2 session=s seq=2 status=unknown: read l [], insert y 1\ntxn T3: read y 1", "", "strong-session-serializable"},
		{"lists in two orders, read second", "txn T1: append l 1\ntxn T2: append l 2\ntxn T3: read x nil, read l [1,2]\ntxn T4: read x nil, read l [2,1]", "read-uncommitted", ""},
		{"lists that part, and are empty when read again", "txn T1: append l 1\ntxn T2: append l 2\ntxn T3: read l [1], read l []\ntxn T4: read l [2], read l []", "read-uncommitted", ""},
		{"a value that nobody here wrote", "txn T1: insert x 1\ntxn T2: read x 9", "", "serializable"},
		{"lists that part, of one of unknown outcome", "txn T1 status=unknown: append l 1\ntxn T2: append l 2\ntxn T3: read l [1]\ntxn T4: read l [2]", "read-uncommitted", ""},
		{"who reads another list needs nobody of unknown outcome", "txn T1 status=unknown: append l 1, insert z 1, read z 2\ntxn T2: append m 1\ntxn T3: read m [1]", "", "serializable"},
		{"who reads what he writes needs not himself", "txn T0: insert x 1\ntxn T1 status=unknown: read x 1, write x 1, insert z 1, read z 2", "", "serializable"},
		{"who took no effect needs nobody", "txn T1 status=unknown: insert x 1, insert z 1, read z 2\ntxn T2 status=unknown: read x 1", "", "serializable"},
		{"who reads an empty list needs nobody of unknown outcome", "txn T1 status=unknown: append l 1, insert z 1, read z 2\ntxn T2: read l []", "", "serializable"},
		{"what one of unknown outcome wrote, and contradicts itself", "txn T1 status=unknown: insert x 1, insert z 1, read z 2\ntxn T2: read x 1", "read-atomic", "read-committed"},
		{"a list that lacks an element before the own one", "txn T2: append l 2\ntxn T3: read l [2], append l 3\ntxn T1: append l 1, read l [1,3]", "monotonic-atomic-view", "read-committed"},
		{"what is seen only behind a read", "txn T1: insert x 1, insert y 1\ntxn T2: read y nil, read x 1", "read-atomic", "monotonic-atomic-view"},
		{"a list that is read again, in another order", "txn T1: append l 1\ntxn T2: append l 2\ntxn T3: read l [1], read l [2,1]", "read-committed", "read-uncommitted"},
		{"an element of others, at the weakest level", "txn T1: append l 1\ntxn T2: read l [1,9]", "", "read-uncommitted"},
		{"an append that was read before it was made", "txn T1: read l [1], append l 1", "read-committed", "read-uncommitted"},
		{"an append behind a read", "txn T1: append l 1\ntxn T2: read l [1], append l 2", "", "read-uncommitted"},
		{"a set beside another one", "txn T1 session=s seq=1: add t 2, add s 1\ntxn T2 session=s seq=2: read s {1}", "", "strong-session-serializable"},
		{"a part of a range that tells versions", "txn T1: insert x1 1 @7, insert x2 2 @8\ntxn T2: range x..y [x1=1@7]", "monotonic-atomic-view", "read-committed"},
		{"a value of which another version was written", "txn T1: insert x1 1 @7, insert x2 2 @8\ntxn T2: range x..y [x1=1@9]", "", "serializable"},
		{"a value without its version", "txn T1: insert x1 1 @7, insert x2 2 @8\ntxn T2: range x..y [x1=1]", "", "serializable"},
		{"a version of a plain write", "txn T1: insert x1 1, insert x2 2\ntxn T2: range x..y [x1=1@9]", "monotonic-atomic-view", "read-committed"},
		{"a read of another version", "txn T1: insert x 1 @7, insert y 2\ntxn T2: read x 1 @9, read y nil", "", "serializable"},
		{"a read of a version that was written, beside other values and keys", "txn T1: insert x 1 @7, insert x 2 @8, insert x 1 @7, insert z 1 @9, insert y 2\ntxn T2: read x 1 @7, read y nil\ntxn T3: read x 1 @9", "monotonic-atomic-view", "read-committed"},
		{"of unknown outcome, and seen", "txn T1 status=unknown: insert x 1, insert y 1\ntxn T2: read x 1, read y nil", "monotonic-atomic-view", "read-committed"},
	} {
		t.Run(x.what, func(t *testing.T) {
			w := finding.Witness{Anomaly: finding.NoOrder, Txns: recordsOf(t, strings.TrimSpace(x.txns)), Level: x.falls}
			if err := Verify(&w); x.falls != "" && err != nil {
				t.Errorf("%s: %v", x.falls, err)
			}
			if w.Level = x.holds; x.holds == "" {
				return
			}
			if err := Verify(&w); err == nil || !strings.Contains(err.Error(), "there is an order") {
				t.Errorf("%s: error is %v, want that there is an order", x.holds, err)
			}
		})
	}
}

// TestVerifyTriedNewRow: who writes a key that somebody else has deleted begins a row of its own where
// the product tells rows from keys, and loses no update.
func TestVerifyTriedNewRow(t *testing.T) {
	w := finding.Witness{Anomaly: finding.NoOrder, Level: "snapshot-isolation", Txns: recordsOf(t, `
txn T0: append l 1, insert x 1, insert y 1
txn T1: read x 1, delete x, write y 2
txn T2: read y 1, insert x 2`)}
	if err := Verify(&w); err != nil {
		t.Error(err)
	}
	if w.Rows = true; Verify(&w) == nil {
		t.Error("a row of its own is taken for a lost update")
	}
}

// TestVerifyTriedOldRow: who inserts a row may still read the deleted one, where the product tells rows
// from keys. That a row is gone refutes an order all the same, and so does a row that T2 itself deleted.
func TestVerifyTriedOldRow(t *testing.T) {
	const others = "txn T0: insert x 1\ntxn T1: read x 1, delete x\n"
	for text, refuses := range map[string]bool{
		others + "txn T2: read x 1, insert x 2, read x 1":   true,
		others + "txn T2: read x 1, insert x 2, read x nil": false,
		"txn T0: insert x 1\ntxn T1: insert x 2, read x 1":  true,
		"txn T0: insert x 1\ntxn T1: delete x, read x 1":    false,
	} {
		w := finding.Witness{Anomaly: finding.NoOrder, Level: "snapshot-isolation", Txns: recordsOf(t, text)}
		if err := Verify(&w); err != nil {
			t.Error(err)
		}
		w.Rows = true
		if err := Verify(&w); (err != nil) != refuses {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestVerifyTriedNoSum: a counter's value that is no number says nothing.
func TestVerifyTriedNoSum(t *testing.T) {
	w := finding.Witness{Anomaly: finding.NoOrder, Level: "strong-session-serializable",
		Txns: recordsOf(t, "txn T1 session=s seq=1: inc c 1\ntxn T2 session=s seq=2: count c 0")}
	if err := Verify(&w); err != nil {
		t.Error(err)
	}
	if w.Txns[1].Ops[0].Value = "two"; Verify(&w) == nil {
		t.Error("what is no sum refutes an order")
	}
}

// TestVerifyTriedRefuses: witnesses that are none.
func TestVerifyTriedRefuses(t *testing.T) {
	const sum = "txn T1: inc c 1\ntxn T2: inc c 3\ntxn T3: count c 2"
	for _, x := range []struct {
		what   string
		change func(w *finding.Witness)
		want   string
	}{
		{"a read that may be of others", func(w *finding.Witness) { w.Repeated = []finding.DuplicateRead{{Txn: 2, Key: "c"}} }, "there is an order"},
		{"an aborted transaction", func(w *finding.Witness) { w.Txns[0].Status = event.Aborted }, "T1 aborted"},
		{"two epochs", func(w *finding.Witness) { w.Txns[1].Epoch = "e" }, "two histories"},
		{"no transaction", func(w *finding.Witness) { w.Txns = nil }, "0 transactions"},
		{"too many", func(w *finding.Witness) { w.Txns = make([]event.Record, MaxTried+1) }, "13 transactions"},
		{"an increment that is none", func(w *finding.Witness) { w.Txns[0].Ops[0].Value = "one" }, "not a number"},
		{"a sum that is none", func(w *finding.Witness) { w.Txns[2].Ops[0].Value = "two" }, "there is an order"},
		{"another source", func(w *finding.Witness) { w.Txns[1].Source = "other" }, "two histories"},
		{"no level", func(w *finding.Witness) { w.Level = "linearizable" }, "not a level at which orders are tried"},
		{"a sum that can be", func(w *finding.Witness) { w.Txns[2].Ops[0].Value = "3" }, "there is an order"},
	} {
		t.Run(x.what, func(t *testing.T) {
			w := finding.Witness{Anomaly: finding.NoOrder, Txns: recordsOf(t, sum), Level: "serializable"}
			if err := Verify(&w); err != nil {
				t.Fatal(err)
			}
			x.change(&w)
			if err := Verify(&w); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("error is %v, want one that says %q", err, x.want)
			}
		})
	}
}

// TestVerifyTriedAgain: one of unknown outcome need not have taken effect where another one appended,
// or wrote, the same: T1, which does not see its own append, cannot have.
func TestVerifyTriedAgain(t *testing.T) {
	for _, x := range []struct{ txns, want string }{
		{"txn T1 status=unknown: append l 1, read l [2]\ntxn T2: append l 2\ntxn T3: append l 1\ntxn T4: read l [2,1]", "there is an order"},
		{"txn T1 status=unknown: append l 1, read l [2]\ntxn T2: append l 2\ntxn T4: read l [2,1]", ""},
		{"txn T1 status=unknown: write x 1, read x 2\ntxn T2: write x 2\ntxn T3: write x 1\ntxn T4: read x 1", "there is an order"},
		{"txn T1 status=unknown: write x 1, read x 2\ntxn T2: write x 2\ntxn T4: read x 1", ""},
	} {
		w := finding.Witness{Anomaly: finding.NoOrder, Txns: recordsOf(t, x.txns), Level: "serializable"}
		switch err := Verify(&w); {
		case x.want == "" && err != nil:
			t.Errorf("%s: %v", x.txns, err)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: error is %v, want one that says %q", x.txns, err, x.want)
		}
	}
}

// TestVerifyTriedRows: who inserts where a row was deleted conflicts with nobody, also where who
// deleted it is not in the witness; elsewhere it does.
func TestVerifyTriedRows(t *testing.T) {
	const two = "txn T1: read y nil, write x 1\ntxn T2: write y 1, write x 2\ntxn T3: read x 1, read y 1"
	const order = "there is an order"
	for _, x := range []struct {
		what, txns string
		rows       bool
		deleted    []string
		want       string
	}{
		{"one row", two, true, nil, ""},
		{"another row", two + "\ntxn T4: read x 2, delete x", true, nil, order},
		{"another row of a store of keys", two + "\ntxn T4: read x 2, delete x", false, nil, ""},
		{"deleted by others", two, true, []string{"x"}, order},
		{"deleted by others elsewhere", two, true, []string{"y"}, ""},
		{"deleted by others, and here", "txn T1: read y nil, delete x, write z 1\ntxn T2: write y 1, write x 2\ntxn T3: read z 1, read y 1, read x nil", true, []string{"x"}, ""},
	} {
		t.Run(x.what, func(t *testing.T) {
			w := finding.Witness{Anomaly: finding.NoOrder, Txns: recordsOf(t, x.txns), Level: "snapshot-isolation", Rows: x.rows, Deleted: x.deleted}
			switch err := Verify(&w); {
			case x.want == "" && err != nil:
				t.Error(err)
			case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
				t.Errorf("error is %v, want one that says %q", err, x.want)
			}
		})
	}
}

// TestVerifyTriedSteps: what cannot be tried to the end is refused.
func TestVerifyTriedSteps(t *testing.T) {
	for level, txns := range map[string]string{
		"serializable": "txn T1: inc c 1\ntxn T2: inc c 3\ntxn T3: count c 2",
		"causal":       "txn T1: insert x 1\ntxn T2: read x 1, insert y 1\ntxn T3: read y 1, read x nil",
	} {
		w := finding.Witness{Anomaly: finding.NoOrder, Txns: recordsOf(t, txns), Level: level}
		for steps := 1; ; steps++ {
			err := checkTriedIn(&w, steps)
			if err == nil && steps > 5 {
				break
			}
			if err == nil || !strings.Contains(err.Error(), "too many orders") || steps > 1000 {
				t.Fatalf("%s, %d steps: error is %v, want that there are too many orders", level, steps, err)
			}
		}
	}
}

// TestVerifyDeclaredRegister: an array is the value of a register where the read says so.
func TestVerifyDeclaredRegister(t *testing.T) {
	for declared, want := range map[event.DataKind]bool{event.AnyKind: false, event.Register: true} {
		w := finding.Witness{Anomaly: finding.Nonrepeatable, Txns: recordsOf(t, "txn A: range a..z [], read x [1]"), Key: "x", Op: 1}
		w.Txns[0].Ops[1].Data = declared
		if err := Verify(&w); (err == nil) != want {
			t.Errorf("%v: %v", declared, err)
		}
	}
}
