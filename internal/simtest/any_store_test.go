package simtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/window"
)

// anyStore is a store with rows, lists, sets and counters. It runs a transaction at an instant
// between its begin and its end, so that it keeps every level. With snapshots a transaction reads
// what was there at an earlier instant, and of two that write a key the first commits: strong
// snapshot isolation. Its clients have clocks that differ by less than the drift, and try again what
// they got no answer to, or what was refused. What the contract leaves open happens: writers without
// records, deletes without records, records that are lost.
type anyStore struct {
	rng       *rand.Rand
	contract  window.Contract
	snapshots bool
	kinds     []string // of keys: row, list, set, ctr
	keys      int      // of each kind
	small     bool     // values of rows, and elements of sets, come again
	retries   bool     // with the same values
	lists     bool     // lists are deleted
	prev      bool     // a write names the version that it replaced
	told      bool     // operations name the kind of their key
	seqs      bool     // records have a seq
	unknown   float64  // share of unknown outcomes
	aborted   float64  // share of transactions that are rolled back
	lost      lostRecords
	late      time.Duration // by which a record comes late at most
	records   anyRecords

	rows, counters  map[string]anyRow
	listOf, setOf   map[string][]int64
	versions, fresh int64            // the last ones given
	written         map[string]int64 // when the key was written last
	used            map[string]int64 // when a recorded transaction that used the key ended
	quiet           map[string]int64 // no recorded transaction uses the key before
	again           []anyRetry
}

// lostRecords says which records are lost.
type lostRecords int

const (
	noneLost lostRecords = iota
	someLost
	sessionsLost // those of half the sessions
	firstLost    // the first third
)

func (l lostRecords) String() string {
	return []string{"none", "some", "of sessions", "the first third"}[l]
}

// anyRow is the value of a row, as JSON, or of a counter.
type anyRow struct {
	text    string
	n       int64
	version int64
}

type anyRetry struct {
	writes []anyWrite
	end    int64
	tries  int // before it
}

type anyWrite struct{ op, key, value string }

// anyTxn is a transaction and its record.
type anyTxn struct {
	session, seq       int
	start, end         int64 // by the store's clock
	reads, commits, at int64 // instants: what it reads is of the first; its record comes at the last
	status, ops        string
	lost, effect       bool
}

const (
	anyTxns = 400
	anyUnit = time.Millisecond // a transaction begins in each, and takes up to 40
)

// stream is the records in the order in which they come, and some 7 windows of unrelated ones.
func (x *anyStore) stream() (records [][]byte) {
	x.load()
	all := x.plan()
	x.run(all)
	slices.SortFunc(all, func(a, b *anyTxn) int { return cmp.Compare(a.at, b.at) })
	skew := make([]int64, maxAnySessions)
	for s := range skew {
		if x.contract.ClockDrift > 0 {
			skew[s] = x.rng.Int64N(int64(x.contract.ClockDrift))
		}
	}
	last := int64(0)
	for _, d := range all {
		last = max(last, d.end)
		// The loss of a delete is not one of those that hide contradictions: docs/semantics.md, section 2.
		deletes := strings.Contains(d.ops, `"op":"delete"`) || strings.Contains(d.ops, `"op":"remove"`)
		if d.lost && (x.contract.DeletesUnseen || !deletes) {
			continue
		}
		record := fmt.Appendf(nil, `%s,"ops":[%s]}`, x.records.head(d, x.seqs, skew[d.session]), d.ops)
		records = append(append(records, record), x.records.again(record, d)...)
	}
	for i := range 200 {
		at := last + int64(x.contract.ClockDrift) + int64(i+1)*int64(5*anyUnit)
		records = append(records, fmt.Appendf(nil, `{"txn":"quiet-%d","session":"quiet","seq":%d,"status":"committed","start":%d,"end":%d,"ops":[{"op":"append","key":"unrelated","value":%d}]}`, i, i+1, at, at+1000, i))
	}
	return x.records.finish(records)
}

// load fills the store, where data exist before the first record.
func (x *anyStore) load() {
	x.rows, x.counters = map[string]anyRow{}, map[string]anyRow{}
	x.listOf, x.setOf = map[string][]int64{}, map[string][]int64{}
	x.written, x.used, x.quiet = map[string]int64{}, map[string]int64{}, map[string]int64{}
	for i := range x.keys {
		k := func(kind string) string { return fmt.Sprintf("%s/%d", kind, i) }
		if !x.contract.Existing {
			x.counters[k("ctr")] = anyRow{}
			continue
		}
		x.versions++
		x.counters[k("ctr")] = anyRow{n: x.rng.Int64N(100), version: x.versions}
		if x.rng.IntN(3) > 0 {
			x.versions++
			x.rows[k("row")] = anyRow{text: x.value(), version: x.versions}
		}
		if x.rng.IntN(3) > 0 {
			x.fresh += 2
			x.listOf[k("list")] = []int64{x.fresh - 1, x.fresh}
			x.setOf[k("set")] = []int64{x.fresh - 1, x.fresh}
		}
	}
}

const maxAnySessions = 8

// plan says when each session does what, and which records are lost.
func (x *anyStore) plan() (all []*anyTxn) {
	sessions := 2 + x.rng.IntN(maxAnySessions-2)
	free, seq, lost := make([]int64, sessions), make([]int, sessions), make([]bool, sessions)
	for s := range lost {
		lost[s] = x.lost == sessionsLost && x.rng.IntN(2) == 0
	}
	for i := range anyTxns {
		s := x.rng.IntN(sessions)
		longest := []int64{int64(anyUnit) / 5, int64(anyUnit), 5 * int64(anyUnit), 20 * int64(anyUnit)}[x.rng.IntN(4)]
		d := &anyTxn{session: s, start: max(free[s]+1000, int64(time.Hour)+int64(i+1)*int64(anyUnit)+x.rng.Int64N(int64(anyUnit)))}
		d.commits = d.start + 1 + x.rng.Int64N(longest)
		d.reads, d.end = d.commits, d.commits+1+x.rng.Int64N(longest)
		if x.snapshots {
			d.reads = d.start + 1 + x.rng.Int64N(d.commits-d.start)
		}
		seq[s]++
		d.seq, free[s] = seq[s], d.end
		d.at = d.end + x.rng.Int64N(int64(x.late)+1)
		d.lost = lost[s] || x.lost == someLost && x.rng.IntN(3) == 0 || x.lost == firstLost && i < anyTxns/3
		all = append(all, d)
	}
	return all
}

// run does it all, and gives each transaction its operations and its outcome.
func (x *anyStore) run(all []*anyTxn) {
	type event struct {
		at int64
		do func()
	}
	var events []event
	for _, d := range all {
		r := &anyRun{x: x, d: d, rows: map[string]*anyRow{}, lists: map[string][]int64{}, sets: map[string][]int64{}, counters: map[string]anyRow{}}
		events = append(events, event{d.reads, r.execute}, event{d.commits, r.commit})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	before := events[0].at
	for _, e := range events {
		if x.contract.UnmonitoredWriters && x.rng.IntN(8) == 0 {
			x.job(before + (e.at-before)/2)
		}
		e.do()
		before = e.at
	}
}

// job is a transaction without a record, at an instant. It does not write what a recorded one does.
// Within the drift of recorded ones, what it restores cannot be told from a fault: it stays away
// from them.
func (x *anyStore) job(at int64) {
	k := x.key(x.kinds[x.rng.IntN(len(x.kinds))])
	apart := 4 * int64(x.contract.ClockDrift)
	if x.used[k]+apart > at || x.quiet[k] > at {
		return
	}
	x.quiet[k], x.written[k] = at+apart, at
	deletes := x.contract.DeletesUnseen && x.rng.IntN(3) == 0
	switch kind, _, _ := strings.Cut(k, "/"); {
	case kind == "row" && deletes:
		delete(x.rows, k)
	case kind == "row":
		x.versions++
		n := x.rng.Int64N(3) // comes again
		if x.rng.IntN(2) == 0 {
			x.fresh++
			n = x.fresh
		}
		x.rows[k] = anyRow{text: fmt.Sprintf(`"job%d"`, n), version: x.versions}
	case kind == "ctr":
		x.versions++
		x.counters[k] = anyRow{n: x.counters[k].n + x.rng.Int64N(9) - 4, version: x.versions}
	case kind == "set" && deletes:
		delete(x.setOf, k)
	case kind == "list" && deletes && x.lists:
		delete(x.listOf, k)
	}
}

func (x *anyStore) key(kind string) string { return fmt.Sprintf("%s/%d", kind, x.rng.IntN(x.keys)) }

func (x *anyStore) value() string {
	if x.small {
		if n := x.rng.IntN(6); n > 0 || !x.records.nulls {
			return fmt.Sprint(n)
		}
		return "null"
	}
	x.fresh++
	return fmt.Sprint(x.fresh)
}
