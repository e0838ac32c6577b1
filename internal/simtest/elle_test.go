package simtest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// elleCase is a case of Elle's list_append_test.clj and rw_register_test.clj with
// what Elle says of it, to the letter: the types of its anomalies, and the weakest
// models that they rule out.
type elleCase struct {
	name, txns string
	contract   string // beyond that of a whole history
	types, not string
}

// The cases are Elle's but for time-outs, markers of an empty graph, and what Elle
// calls its own bug (a read of what nobody wrote is valid there). Where the versions of a key
// are a circle Elle looks no further; here the blind writes are ordered by trial, and
// what sessions or real time forbid is told beside it.
var elleCases = []elleCase{
	{"G0", `
T1: append x 1, append y 1
T2: append x 2, append y 2
T3: read x [1,2], read y [2,1]`, "", "G0", "read-uncommitted"},
	{"G1a", `
T1 status=aborted: append x 1
T2: read x [1]`, "", "G1a", "read-committed"},
	{"G1b", `
T1: append x 1, append x 2
T2: read x [1]`, "", "G-single-item G1b", "read-committed"},
	{"G1c", `
T1: append x 1, read y [1]
T2: append x 2, append y 1
T3: read x [1,2], read y [1]`, "", "G1c", "read-committed"},
	{"G-single", `
T1: append x 1, append y 1
T2: append x 2, read y []
T3: read x [1,2]`, "", "G-single-item", "consistent-view repeatable-read"},
	{"G2", `
T1: append x 1, read y []
T2: append y 1, read x []`, "", "G2-item", "repeatable-read"},
	{"strong snapshot isolation", `
T1 session=p0 start=0 end=1: append x 1
T2 session=p1 start=2 end=3: append x 2
T3 session=p2 start=4 end=5: read x [1]
T4 session=p3 start=6 end=7: read x [1,2]`, "", "G-single-item-realtime", "strong-snapshot-isolation"},
	{"strong session snapshot isolation", `
T1 session=p0 start=0 end=1: append x 1
T2 session=p1 start=2 end=3: append x 2
T3 session=p1 start=4 end=5: read x [1]
T4 session=p3 start=6 end=7: read x [1,2]`, "", "G-single-item-process", "strong-session-snapshot-isolation"},
	{"issue 17", `
T1 session=p0: read x [], read z [1]
T2 session=p1: append x 1
T3 session=p1: read z []
T4 session=p2: append z 1`, "", "G-nonadjacent-item-process", "strong-session-snapshot-isolation"},
	{"issue 21", `
T1 session=p1: read x [1], append y 1
T2 session=p2: read y [1]
T3 session=p2: append x 1`, "", "G1c-process", "strong-session-read-committed"},
	{"contradictory reads", `
T1: append x 1, read y [1]
T2: append x 2
T3: append x 3, append y 1
T4: read x [1,3]
T5: read x [1,2,3]`, "", "G1c incompatible-order", "read-committed"},
	{"dirty update", `
T1 status=aborted: append x 1
T2: append x 2
T3: read x [1,2]`, "", "dirty-update", "read-committed"},
	{"dirty update, indirect", `
T1 status=aborted: append x 1
T2 status=unknown: append x 2
T3: append x 3
T4: read x [1,2,3]`, "", "dirty-update", "read-committed"},
	{"duplicates", `
T1: append x 1, read y [1]
T2: append x 2, append y 1
T3: read x [1,2,1]`, "", "G1c duplicate-elements", "read-uncommitted"},
	{"internal", `
T1: append x 1, append x 2, append x 4
T2: append x 3, read x [1,2,3,4]`, "", "internal", "read-uncommitted"},
	{"internal, of two", `
T1: append x 1, append x 2
T2: append x 4
T3: append x 3, read x [1,2,3,4]`, "", "internal", "read-atomic"},
	{"unobserved write", `
T1 start=0 end=9: append x 1, append y 1
T2 start=0 end=9: append x 2, append y 2
T3 start=0 end=9: append x 3, append y 3
T4 start=0 end=9: read x [1,2]
T5 start=0 end=9: read y [2]`, "", "G-single-item G0", "read-uncommitted"},
	{"G-nonadjacent", `
T1: append x 1
T2: read x [1], read y []
T3: append y 1
T4: read y [1], read x []`, "", "G-nonadjacent-item", "snapshot-isolation repeatable-read"},
	{"must stay valid", `
T1: read x [5], append y 1
T2: read y [], append z 2
T3: read z [], append t 3
T4: read t [3], append u 4
T5: read u [], append x 5`, "", "", ""},
	{"lost update", `
T1: append x 0
T2: read x [0], append x 1
T3: read x [0], append x 2`, "", "G2-item lost-update", "update-atomic cursor-stability"},
	{"double write", `
T1: read x [], append x 1, append x 2
T2: read x [1,2]`, "", "", ""},
	{"future read", `
T1: read x [1], append x 1`, "", "future-read", "read-committed"},
	{"info read", `
T1 status=unknown: append x 2, read y nil
T2: append x 1, append y 1
T3: read x [1,2], read y [1]`, "", "", ""},
	{"repeatable read, G-single", `
T1: append x 1, append y 1
T2: read x [1], read y []`, "", "G-single-item", "consistent-view repeatable-read"},
	{"repeatable read, G-nonadjacent", `
T1: append x 1, append t 1
T2: read x [1], read y []
T3: append y 1, append z 2
T4: read z [2], read t []`, "", "G-nonadjacent-item", "repeatable-read snapshot-isolation"},

	{"register, aborted read", `
T1 status=aborted: write x 1
T2: read x 1`, "", "G1a", "read-committed"},
	{"register, intermediate read", `
T1: write x 1, write x 2
T2: read x 1`, "", "G1b", "read-committed"},
	{"register, G1c", `
T1: write x 1, read y 1
T2: write y 1, read x 1`, "", "G1c", "read-committed"},
	{"register, initial state", `
T1: read x nil, read y 1
T2: write y 1, write x 2`, "", "G-single-item", "consistent-view repeatable-read"},
	{"register, without an order of blind writes", `
T1: write x 1
T2: write x 2
T3: read x 1`, "", "", ""},
	{"register, lost update", `
T0: write x 0
T1: read x 0, write x 1
T2: read x 0, write x 2`, "", "lost-update G2-item", "update-atomic cursor-stability"},
	{"register, write cycle in sessions", `
T1 session=p0: write x 1, write y 2
T2 session=p1: write x 2, write y 1
T3 session=p0: read x 2
T4 session=p1: read y 2`, "sequential-keys=true", "G0 G-single-item-process", "read-uncommitted"},
	{"register, writes follow reads", `
T0: write y 1
T1: read y 1, write x 1, write y 2
T2: read x 1, read y 1`, "", "G-single-item", "consistent-view repeatable-read"},
	{"register, sequential keys go back", `
T1 session=p0: write x 1
T2 session=p0: write x 2
T3 session=p0: read x 1`, "sequential-keys=true", "G-single-item-process cyclic-versions", "read-uncommitted"},
	{"register, linearizable keys go back", `
T1 start=0 end=1: write x 1
T2 start=0 end=3: write x 2
T3 start=2 end=3: read x 2
T4 start=4 end=5: read x 1`, "linearizable-keys=true", "G-single-item-realtime cyclic-versions", "read-uncommitted"},
	{"register, order of transactions", `
{"txn":"T1","status":"committed","commit_ts":20,"ops":[{"op":"r","key":"x","found":false},{"op":"w","key":"y","value":2}]}
{"txn":"T2","status":"committed","commit_ts":10,"ops":[{"op":"w","key":"x","value":3},{"op":"w","key":"y","value":4}]}`,
		"trust-commit-ts=true", "G-single-item", "consistent-view repeatable-read"},
	{"register, two reads differ", `
T0: write x 1
T1: write x 2
T2: read x 1, read x 2`, "", "internal", "read-atomic"},
}

// standFor are anomalies of Elle that are not reported beside another finding of the
// same transactions.
var standFor = map[string]string{"lost-update": "G2-item"}

// elleImplies holds what models imply directly: reference of Elle, consistency_model.clj,
// as far as the models are named above or lie between those.
var elleImplies = map[string][]string{
	"strong-serializable":               {"serializable", "strong-snapshot-isolation", "strong-session-serializable"},
	"strong-session-serializable":       {"serializable", "strong-session-snapshot-isolation"},
	"strong-snapshot-isolation":         {"strong-session-snapshot-isolation", "strong-read-committed"},
	"strong-session-snapshot-isolation": {"snapshot-isolation", "strong-session-read-committed"},
	"strong-read-committed":             {"strong-session-read-committed", "strong-read-uncommitted"},
	"strong-session-read-committed":     {"read-committed", "strong-session-read-uncommitted"},
	"strong-read-uncommitted":           {"strong-session-read-uncommitted"},
	"strong-session-read-uncommitted":   {"read-uncommitted"},
	"serializable":                      {"repeatable-read", "update-serializable", "snapshot-isolation"},
	"update-serializable":               {"forward-consistent-view"},
	"forward-consistent-view":           {"consistent-view"},
	"consistent-view":                   {"cursor-stability", "monotonic-view"},
	"snapshot-isolation":                {"forward-consistent-view", "monotonic-atomic-view", "monotonic-snapshot-read", "parallel-snapshot-isolation", "prefix"},
	"repeatable-read":                   {"cursor-stability", "monotonic-atomic-view"},
	"parallel-snapshot-isolation":       {"causal-cerone", "update-atomic"},
	"prefix":                            {"causal-cerone"},
	"causal-cerone":                     {"read-atomic"},
	"update-atomic":                     {"read-atomic"},
	"read-atomic":                       {"monotonic-atomic-view"},
	"cursor-stability":                  {"read-committed"},
	"monotonic-view":                    {"read-committed"},
	"monotonic-snapshot-read":           {"read-committed"},
	"monotonic-atomic-view":             {"read-committed"},
	"read-committed":                    {"read-uncommitted"},
}

func elleImplied(a, b string) bool {
	return a == b || slices.ContainsFunc(elleImplies[a], func(x string) bool { return elleImplied(x, b) })
}

// weakestModels leaves out of models those that imply another one of them.
func weakestModels(models []string) []string {
	slices.Sort(models)
	models = slices.Compact(models)
	var weakest []string
	for _, m := range models {
		if !slices.ContainsFunc(models, func(x string) bool { return x != m && elleImplied(m, x) }) {
			weakest = append(weakest, m)
		}
	}
	return weakest
}

// TestElleCases: every case has the anomalies that Elle names, no others, and rules
// out the models that Elle says.
func TestElleCases(t *testing.T) {
	for _, c := range elleCases {
		t.Run(c.name, func(t *testing.T) {
			cfg := window.Config{Unbounded: true, Levels: isolation.Encoded(), Contract: window.Contract{Complete: true}}
			if err := set(&cfg, c.contract); err != nil {
				t.Fatal(err)
			}
			types, not := found(t, cfg, c.txns)
			if want := slices.Sorted(slices.Values(strings.Fields(c.types))); !slices.Equal(types, want) {
				t.Errorf("the anomalies are %v, Elle names %v", types, want)
			}
			if want := slices.Sorted(slices.Values(strings.Fields(c.not))); !slices.Equal(not, want) {
				t.Errorf("not %v, Elle says not %v", not, want)
			}
		})
	}
}

// found are the types of the anomalies in the transactions, and the weakest of Elle's
// models that these rule out.
func found(t *testing.T, cfg window.Config, txns string) (types, not []string) {
	names := map[string]bool{}
	for _, f := range findingsOf(t, cfg, txns) {
		names[f.Anomaly] = true
		if other := standFor[f.Anomaly]; other != "" {
			names[other] = true
		}
		not = append(not, f.ElleNot...)
	}
	return slices.Sorted(maps.Keys(names)), weakestModels(not)
}

// findingsOf are the findings in the transactions, without those that were withdrawn.
func findingsOf(t *testing.T, cfg window.Config, txns string) map[string]finding.Finding {
	b := &event.Batch{Partitions: []string{defaultPartition}}
	var d event.Decoder
	rs := records{map[string]int64{}}
	for i, line := range strings.Split(strings.TrimSpace(txns), "\n") {
		record, err := []byte(line), error(nil)
		if line[0] != '{' {
			_, record, err = rs.parse(line)
		}
		if err != nil {
			t.Fatal(err)
		}
		d.Decode(b, event.Position{Offset: int64(i)}, record)
	}
	_, fs, err := run(cfg, b, true)
	if err != nil {
		t.Fatal(err)
	}
	latest := map[string]finding.Finding{}
	for _, f := range fs {
		latest[f.ID] = f
	}
	maps.DeleteFunc(latest, func(_ string, f finding.Finding) bool { return f.State == finding.Withdrawn })
	return latest
}
