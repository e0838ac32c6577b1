package simtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// paperExample is a history that a paper shows or describes: the anomalies in it, what
// the first of them is called, and the weakest levels that fall. All others hold.
// A transaction without a session has one of its own, and without times all others
// are beside it.
type paperExample struct {
	where, what  string
	txns         string
	anomalies    string
	title, falls string
}

const mtc = "MTC, figure 5"

// miniTransactions are the fourteen anomalies of MTC, table I and figure 5: each
// write follows a read of its key, and no transaction has more than four operations.
var miniTransactions = []paperExample{
	{where: mtc + "a", what: "ThinAirRead", txns: `
T1: read x 1`,
		anomalies: "garbage-read", title: "garbage read", falls: "read-committed"},
	{where: mtc + "b", what: "AbortedRead", txns: `
T1 status=aborted: read x nil, write x 1
T2: read x 1`,
		anomalies: "G1a", title: "aborted read", falls: "read-committed"},
	{where: mtc + "c", what: "FutureRead", txns: `
T1: read x 1, write x 1`,
		anomalies: "future-read", title: "future read", falls: "read-committed"},
	{where: mtc + "d", what: "NotMyLastWrite", txns: `
T1: read x nil, write x 1, write x 2, read x 1`,
		anomalies: "internal", title: "own write not read", falls: "monotonic-atomic-view"},
	{where: mtc + "e", what: "NotMyOwnWrite", txns: `
T1: read x nil, write x 1
T2: read x 1, write x 2, read x 1`,
		anomalies: "internal", title: "own write not read", falls: "monotonic-atomic-view"},
	{where: mtc + "f", what: "IntermediateRead", txns: `
T1: read x nil, write x 1, write x 2
T2: read x 1`,
		anomalies: "G1b", title: "intermediate read", falls: "read-committed"},
	{where: mtc + "g", what: "NonRepeatableReads", txns: `
T1: read x nil, write x 1
T2: read x nil, read x 1`,
		anomalies: "internal", title: "non-repeatable read", falls: "read-atomic"},
	{where: mtc + "h", what: "SessionGuaranteeViolation", txns: `
T1: read x nil, write x 1
T2 session=b: read x 1, write x 2
T3 session=b: read x 1`,
		anomalies: "G-single-item-process", title: "read your writes violated", falls: "strong-session-read-atomic"},
	{where: mtc + "i", what: "NonMonotonicRead", txns: `
T1: read x nil, write x 1
T2: read x 1, read y nil, write x 2, write y 2
T3: read y 2, read x 1`,
		anomalies: "G-single-item", title: "non-monotonic view", falls: "monotonic-atomic-view"},
	{where: mtc + "j", what: "FracturedRead", txns: `
T1: read x nil, read y nil, write x 1, write y 1
T2: read y nil, read x 1`,
		anomalies: "G-single-item", title: "fractured read", falls: "read-atomic"},
	{where: mtc + "k", what: "CausalityViolation", txns: `
T1: read x nil, write x 1
T2: read x 1, read y nil, write y 2
T3: read x nil, read y 2`,
		anomalies: "G-single-item", title: "causality violation", falls: "causal"},
	{where: mtc + "l", what: "LongFork", txns: `
T1: read x nil, write x 1
T2: read y nil, write y 2
T3: read x 1, read y nil
T4: read x nil, read y 2`,
		anomalies: "G-nonadjacent-item", title: "long fork", falls: "prefix"},
	{where: mtc + "m", what: "LostUpdate", txns: `
T0: read x nil, write x 0
T1: read x 0, write x 1
T2: read x 0, write x 2`,
		anomalies: "lost-update", title: "lost update", falls: "snapshot-isolation"},
	{where: mtc + "n", what: "WriteSkew", txns: `
T1: read x nil, read y nil, write x 1
T2: read x nil, read y nil, write y 2`,
		anomalies: "G2-item", title: "write skew", falls: "serializable"},
}

// paperExamples are the histories of the papers' other figures and examples. Where a
// figure is a drawing, the history is the one that its text describes.
var paperExamples = []paperExample{
	{where: "MTC, figure 3", what: "divergence", txns: `
T1: write x 1
T2: read x 1, write x 2
T3: read x 1, write x 3`,
		anomalies: "lost-update", title: "lost update", falls: "snapshot-isolation"},
	{where: "MTC, figure 12b", what: "PostgreSQL 12.3", txns: `
T0: read x nil, read y nil, write x 1, write y 1
T1: read x 1, read y 1, write x 2
T2: read x 1, read y 1, write y 2`,
		anomalies: "G2-item", title: "write skew", falls: "serializable"},

	{where: "PolySI, example 1", what: "causality violation", txns: `
Alice: write photo 1
Bob: read photo 1, write comment 2
Carol: read comment 2, read photo nil`,
		anomalies: "G-single-item", title: "causality violation", falls: "causal"},
	{where: "PolySI, example 2", what: "lost update", txns: `
Bank: write account 10
Dan: read account 10, write account 60
Emma: read account 10, write account 60060`,
		anomalies: "lost-update", title: "lost update", falls: "snapshot-isolation"},
	{where: "PolySI, figure 2b, examples 10 and 14", what: "two compatible graphs", txns: `
T: write x 1
S: write x 2
T': read x 1
S': read x 2`},
	{where: "PolySI, figure 4, example 17", what: "two adjacent anti-dependencies are left", txns: `
T1 session=a: write x 1, write y 1
T2 session=a: read y 1, write x 2
T3: write y 2
T4: read x 1, read y 2`,
		anomalies: "G2-item", falls: "serializable"},
	{where: "PolySI, figure 5", what: "MariaDB Galera", txns: `
T1.4 session=1: write 0 4
T1.5 session=1: read 0 4, write 0 5
T2.13 session=2: read 0 4, write 0 13`,
		anomalies: "lost-update", title: "lost update", falls: "snapshot-isolation"},
	{where: "PolySI, figure 6", what: "Dgraph", txns: `
T4.172: write 656 3
T10.467 session=10: read 656 3
T10.471 session=10: write 656 7, write 402 1
T2: read 402 1, write 5 2
T9.428: read 5 2, read 656 3`,
		anomalies: "G-single-item-process", title: "causality violation in sessions", falls: "strong-session-causal"},
	{where: "PolySI, figure 11", what: "YugabyteDB", txns: `
T1.15: write 10 26, write 13 1
T0.6 session=0: read 13 1
T0.7 session=0: write 10 3
T0.9 session=0: read 10 26`,
		anomalies: "G-single-item-process", falls: "strong-session-read-atomic"},

	{where: "Viper, figure 2", what: "a constraint that is open", txns: `
T1: write x 1
T2: write x 2
T3: read x 1`},
	{where: "Viper, figure 3", what: "long fork", txns: `
T1: write x 1, write y 1
T2: read x 1, write x 2
T3: read y 1, write y 2
T4: read x 2, read y 1
T5: read x 1, read y 2`,
		anomalies: "G-nonadjacent-item", title: "long fork", falls: "prefix"},
	{where: "Viper, section 7.3", what: "G1c of three read dependencies", txns: `
T1: read x 3, write y 1
T2: read y 1, write z 2
T3: read z 2, write x 3`,
		anomalies: "G1c", falls: "read-committed"},
	{where: "Viper, section 7.3", what: "G-SIb", txns: `
T1: write x 1, write y 1
T2: read x 1, read y 1, write x 2, write y 2
T3: read x 1, read y 2`,
		anomalies: "G-single-item", title: "fractured read", falls: "read-atomic"},

	{where: "Elle, section 3", what: "anti-dependencies of a set", txns: `
T: add x 0
T0: read x {0}
T1: add x 1
T2: add x 2
T3: read x {0,1,2}`},
	{where: "Elle, section 7.1", what: "TiDB", txns: `
T0: append 34 2, append 34 1
T1: read 34 [2,1], append 36 5, append 34 4
T2: append 34 5
T3: read 34 [2,1,5,4]`,
		anomalies: "G-single-item", falls: "snapshot-isolation"},
	{where: "Elle, section 7.2", what: "YugaByte DB", txns: `
T0: append 3 831, append 3 833, append 3 836, append 4 874, append 4 877, append 4 883
T1: append 3 837, read 4 [874,877,883]
T2: append 4 885, read 3 [831,833,836]`,
		anomalies: "G2-item", title: "write skew", falls: "serializable"},
	{where: "Elle, section 7.3", what: "FaunaDB", txns: `
T1: append 0 6, read 0 []`,
		anomalies: "internal", title: "own write not read", falls: "monotonic-atomic-view"},
	{where: "Elle, section 7.4", what: "Dgraph, own write", txns: `
T0: write 10 1
T1: write 10 2, read 10 1`,
		anomalies: "internal", title: "own write not read", falls: "monotonic-atomic-view"},
	{where: "Elle, section 7.4", what: "Dgraph, three seconds later", txns: `
T1 start=0 end=1000: read 541 nil, write 540 2
T2 start=4000 end=5000: read 540 nil, write 544 1`,
		anomalies: "G-single-item-realtime", title: "stale read", falls: "strong-read-atomic"},
	{where: "Elle, section 7.4", what: "Dgraph, read skew", txns: `
T1: read 2432 10, read 2434 nil
T2: write 2434 10
T3: write 2432 10, read 2434 10`,
		anomalies: "G-single-item", title: "causality violation", falls: "causal"},
	{where: "Elle, figure 2", what: "G-single", txns: `
T0: append 255 2, append 255 3, append 255 4, append 255 5, append 256 1, append 256 2
T0': append 253 1, append 253 3, append 253 4
T1: append 250 10, read 253 [1,3,4], read 255 [2,3,4,5], append 256 3
T2: append 255 8, read 253 [1,3,4]
T3: append 256 4, read 255 [2,3,4,5,8], read 256 [1,2,4], read 253 [1,3,4]`,
		anomalies: "G-single-item G2-item", falls: "snapshot-isolation"},

	{where: "dbcop, figure 1a", what: "not the last value written", txns: `
T1: write x 1, write x 2
T2: read x 1`,
		anomalies: "G1b", title: "intermediate read", falls: "read-committed"},
	{where: "dbcop, figure 1b", what: "a read behind an own write", txns: `
T1: write x 1
T2: write x 2, read x 1`,
		anomalies: "internal", title: "own write not read", falls: "monotonic-atomic-view"},
	{where: "dbcop, figure 1c", what: "aborted", txns: `
T1 status=aborted: write x 1
T2: read x 1`,
		anomalies: "G1a", title: "aborted read", falls: "read-committed"},
	{where: "dbcop, figure 3a", what: "RC violated", txns: `
T1 session=a: write x 1
T2 session=a: read x 1, write x 2, write y 1
T3: read y 1, read x 1`,
		anomalies: "G-single-item", title: "non-monotonic view", falls: "monotonic-atomic-view"},
	{where: "dbcop, figure 3b", what: "RC satisfied, RA violated", txns: `
T1: write x 1
T2: write x 2
T3: read x 1, read x 2`,
		anomalies: "internal", title: "non-repeatable read", falls: "read-atomic"},
	{where: "dbcop, figure 3c", what: "read my writes violated", txns: `
T1: write x 1, write y 1
T2 session=b: read x 1
T3 session=b: write y 2
T4 session=b: read y 1`,
		anomalies: "G-single-item-process", falls: "strong-session-read-atomic"},
	{where: "dbcop, figure 3d", what: "RA violated", txns: `
T1: write x 1, write y 1
T2: write x 2, write y 2
T3: read x 1, read y 2`,
		anomalies: "G-single-item", falls: "read-atomic"},
	{where: "dbcop, figure 3e", what: "CC violated", txns: `
T1: write x 1
T2: read x 1, write x 2
T4: read x 2, write y 1
T3: read x 1, read y 1`,
		anomalies: "G-single-item", title: "causality violation", falls: "causal"},
	{where: "dbcop, figures 3f and 7a", what: "PC violated", txns: `
T0: write x 1, write y 1
T1: write x 2
T2: write y 2
T3: read x 1, read y 2
T4: read x 2, read y 1`,
		anomalies: "G-nonadjacent-item", falls: "prefix"},
	{where: "dbcop, figures 3g, 7c and 11a", what: "conflict violated, PC satisfied", txns: `
T0: write x 0
T1: read x 0, write x 1
T2: read x 0, write x 2`,
		anomalies: "lost-update", title: "lost update", falls: "snapshot-isolation"},
	{where: "dbcop, figures 3h and 11c", what: "SER violated, SI satisfied", txns: `
T0: write x 0, write y 0
T1: read x 0, read y 0, write x 1
T2: read x 0, read y 0, write y 1`,
		anomalies: "G2-item", title: "write skew", falls: "serializable"},
	{where: "dbcop, figure 4a", what: "RA by saturation", txns: `
T1: write x 1, write y 1
T2: write y 2, write x 2
T3: read y 2, read x 1`,
		anomalies: "G-single-item", falls: "read-atomic"},
	{where: "dbcop, figures 4b and 4c", what: "RA satisfied, CC violated", txns: `
T1 session=a: write x 1
T2 session=a: write x 2
T3: read x 2, write y 1
T4: read y 1, read x 1`,
		anomalies: "G-single-item-process", title: "causality violation in sessions", falls: "strong-session-causal"},
	{where: "dbcop, figure 6", what: "serializable", txns: `
T0: write x 0, write y 0
T1 session=a: read x 0, write y 1
T2 session=b: read x 0
T3 session=a: write x 1
T4 session=b: read x 1, read y 1`},
	{where: "dbcop, figure 12", what: "five sessions that share keys with their neighbours", txns: `
T1 session=1: write x 1
T2 session=2: read x 1, write y 1
T3 session=3: read y 1, write z 1
T4 session=4: read z 1, read y 1, write u 1
T5 session=5: read u 1`},
}

// TestPaperExamples: in every order of arrival each history shows the anomaly that
// its paper names, the levels that it contradicts are violated and all others are ok;
// while transactions retire, no verdict says otherwise.
func TestPaperExamples(t *testing.T) {
	t.Parallel()
	for _, x := range slices.Concat(miniTransactions, paperExamples) {
		t.Run(x.where+" "+x.what, func(t *testing.T) {
			b, err := x.batch()
			if err != nil {
				t.Fatal(err)
			}
			falls, err := isolation.ParseLevels(strings.ReplaceAll(x.falls, " ", ","))
			if err != nil && x.falls != "" {
				t.Fatal(err)
			}
			cfg := window.Config{Named: true, Unbounded: true, Levels: triedLevels(), Contract: window.Contract{Complete: true}}
			each(len(b.Txns), func(perm []int) {
				m, found := x.run(t, cfg, b, perm)
				x.named(t, found)
				verdictsAre(t, m, falls, true)
			})
			rng := rand.New(rand.NewPCG(uint64(len(x.what)), 71))
			for range 20 {
				cfg := windowed(rng)
				cfg.Levels, cfg.Named = triedLevels(), true
				m, _ := x.run(t, cfg, b, rng.Perm(len(b.Txns)))
				verdictsAre(t, m, falls, false)
			}
		})
	}
}

// batch decodes the transactions.
func (x *paperExample) batch() (*event.Batch, error) {
	b := &event.Batch{Partitions: []string{defaultPartition}}
	var d event.Decoder
	rs := records{map[string]int64{}}
	members := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(x.txns), "\n") {
		head, ops, _ := strings.Cut(line, ":")
		if id := strings.Fields(head)[0]; !strings.Contains(head, " session=") {
			head += " session=" + id
		} else if _, session, _ := strings.Cut(head, " session="); !strings.Contains(head, " start=") {
			head += fmt.Sprintf(" start=%d end=%d", members[session], members[session]+1)
			members[session]++
		}
		if !strings.Contains(head, " start=") {
			head += " start=0 end=9"
		}
		_, record, err := rs.parse(head + ":" + ops)
		if err != nil {
			return nil, err
		}
		d.Decode(b, event.Position{Offset: int64(i)}, record)
	}
	if len(b.Bad) > 0 {
		return nil, fmt.Errorf("bad record: %s", b.Bad[0].Reason)
	}
	return b, nil
}

// each calls fn with the orders of n things, of more than five with 120 of them.
func each(n int, fn func(perm []int)) {
	rng := rand.New(rand.NewPCG(uint64(n), 72))
	if n > 5 {
		for range 120 {
			fn(rng.Perm(n))
		}
		return
	}
	var extend func(perm []int)
	extend = func(perm []int) {
		if len(perm) == n {
			fn(perm)
			return
		}
		for i := range n {
			if !slices.Contains(perm, i) {
				extend(append(slices.Clone(perm), i))
			}
		}
	}
	extend(nil)
}

func (x *paperExample) run(t *testing.T, cfg window.Config, b *event.Batch, perm []int) (*window.Machine, map[string]finding.Finding) {
	t.Helper()
	m := window.New(cfg)
	var eff window.Effects
	for _, p := range perm {
		m.Step(b, []int32{int32(p)}, 0, &eff)
	}
	m.Close(&eff)
	if err := m.Check(); err != nil || m.Counters.Unverified > 0 {
		t.Fatalf("in the order %v: %v %v", perm, err, m.Unverified())
	}
	latest := map[string]finding.Finding{}
	for _, f := range eff.Findings {
		latest[f.ID] = f
		if f.State == finding.Withdrawn {
			delete(latest, f.ID)
		}
	}
	return m, latest
}

// named says whether the findings are the anomalies of the example.
func (x *paperExample) named(t *testing.T, found map[string]finding.Finding) {
	t.Helper()
	var names []string
	titled := x.title == ""
	for _, f := range found {
		names = append(names, f.Anomaly)
		titled = titled || f.Title == x.title
	}
	slices.Sort(names)
	if want := strings.Fields(x.anomalies); !slices.Equal(slices.Compact(names), want) || !titled {
		t.Fatalf("found %v, want %v called %q: %v", names, want, x.title, slices.Collect(maps.Keys(found)))
	}
}

// verdictsAre says whether the levels that fall are violated and no others. exact asks
// for ok as well, but of those that cannot tell what an anomaly that they allow hides.
func verdictsAre(t *testing.T, m *window.Machine, falls []isolation.Level, exact bool) {
	t.Helper()
	for _, l := range m.Levels() {
		verdict, why := m.Verdict(l)
		want := window.OK
		if l.Refuted(falls) {
			want = window.Violated
		}
		if verdict != want && (exact || verdict != window.Unknown) {
			t.Errorf("%v is %s (%s), not %s; what falls is %v", l, verdict, why, want, falls)
		}
	}
}
