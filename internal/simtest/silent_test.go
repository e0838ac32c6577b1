package simtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// quietStore is a store that runs transactions one at a time, at an instant of their own between
// begin and end, for sessions that overlap. It has rows, which are inserted, updated with a read
// before or without, deleted and scanned, and lists. A record names versions, which come from one
// counter, where versions is set. Of unknown outcomes half took effect, and the client tries most
// again with the same values.
type quietStore struct {
	versions bool
	small    bool    // values come again; else a counter gives them
	lists    bool    // some keys are lists
	deletes  bool    // rows are deleted
	ranges   bool    // rows are scanned
	prev     float64 // share of writes that name the version which they replaced
	unknown  float64 // share of unknown outcomes, and of aborted ones
	rows     int
	tries    bool // a client tries again what it got no answer to

	rng           *rand.Rand
	values, given int64
	state         map[string]stored
	again         []attempt
}

type stored struct {
	value, version int64
	list           []int64
}

// tried is a write that a client tries again, and attempt those of a transaction which has ended.
type tried struct {
	key   string
	value int64
}

type attempt struct {
	writes []tried
	end    int64
}

// The store runs a transaction in each ms on average. A stream is of five windows.
const (
	quietTxns   = 1500
	quietWindow = 300 * time.Millisecond
	quietLate   = 60 * time.Millisecond
	quietLonger = 50 * time.Millisecond // no transaction takes longer
)

// quietTxn is a transaction and its record, which arrives some time after its end.
type quietTxn struct {
	session, seq            int
	start, at, end, arrives int64
	status, ops             string
}

// stream is the records in the order in which they arrive, and a window of unrelated ones.
func (x *quietStore) stream(rng *rand.Rand, late time.Duration) (records [][]byte) {
	x.rng, x.state = rng, map[string]stored{}
	free, seq := make([]int64, 6), make([]int, 6)
	var all []*quietTxn
	for i := range quietTxns {
		s := rng.IntN(len(free))
		longest := []int64{200_000, 1_000_000, 5_000_000, 20_000_000}[rng.IntN(4)]
		d := &quietTxn{session: s, start: max(free[s]+1000, int64(i+1)*int64(time.Millisecond)+rng.Int64N(500_000))}
		d.at = d.start + 1 + rng.Int64N(longest)
		d.end = d.at + 1 + rng.Int64N(longest)
		seq[s]++
		d.seq, free[s] = seq[s], d.end
		d.arrives = d.end + rng.Int64N(int64(late)+1)
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *quietTxn) int { return cmp.Compare(a.at, b.at) })
	for _, d := range all {
		x.execute(d)
	}
	slices.SortFunc(all, func(a, b *quietTxn) int { return cmp.Compare(a.arrives, b.arrives) })
	last := int64(0)
	for _, d := range all {
		records = append(records, fmt.Appendf(nil, `{"txn":"s%d-%d","session":"s%d","seq":%d,"status":%q,"start":%d,"end":%d,"ops":[%s]}`,
			d.session, d.seq, d.session, d.seq, d.status, d.start, d.end, d.ops))
		last = max(last, d.end)
	}
	for i := range 200 {
		at := last + int64(i+1)*int64(5*time.Millisecond)
		records = append(records, fmt.Appendf(nil, `{"txn":"quiet-%d","session":"quiet","seq":%d,"status":"committed","start":%d,"end":%d,"ops":[{"op":"append","key":"unrelated","value":%d}]}`, i, i+1, at, at+1000, i))
	}
	return records
}

// execute runs a transaction.
func (x *quietStore) execute(d *quietTxn) {
	own := map[string]stored{}
	gone := map[string]bool{}
	get := func(k string) (stored, bool) {
		if v, ok := own[k]; ok || gone[k] {
			return v, ok
		}
		v, ok := x.state[k]
		return v, ok
	}
	var ops []string
	version := func(name string, v int64) string {
		if !x.versions || v == 0 {
			return ""
		}
		return fmt.Sprintf(`,%q:%d`, name, v)
	}
	read := func(k string) (stored, bool) {
		v, ok := get(k)
		if !ok {
			ops = append(ops, fmt.Sprintf(`{"op":"r","key":%q,"found":false}`, k))
			return v, ok
		}
		ops = append(ops, fmt.Sprintf(`{"op":"r","key":%q,"value":%d%s}`, k, v.value, version("version", v.version)))
		return v, ok
	}
	var writes []tried
	write := func(k string, value int64, named bool) {
		was, there := get(k)
		x.given++
		o, prev := "w", ""
		if !there && named {
			o = "insert"
		} else if there && (named || x.rng.Float64() < x.prev) {
			prev = version("prev_version", was.version)
		}
		ops = append(ops, fmt.Sprintf(`{"op":%q,"key":%q,"value":%d%s%s}`, o, k, value, version("version", x.given), prev))
		own[k] = stored{value: value, version: x.given}
		writes = append(writes, tried{k, value})
	}
	add := func(k string, value int64) {
		was, _ := get(k)
		ops = append(ops, fmt.Sprintf(`{"op":"append","key":%q,"value":%d}`, k, value))
		own[k] = stored{list: append(slices.Clone(was.list), value)}
		writes = append(writes, tried{k, value})
	}
	retry := len(x.again) > 0 && x.again[0].end < d.start && x.rng.IntN(2) == 0
	if retry {
		for _, w := range x.again[0].writes {
			if strings.HasPrefix(w.key, "list") {
				add(w.key, w.value)
			} else {
				write(w.key, w.value, false)
			}
		}
		x.again = x.again[1:]
	}
	for n := 1 + x.rng.IntN(3); n > 0 && !retry; n-- {
		k := fmt.Sprintf("row/%02d", x.rng.IntN(x.rows))
		switch u := x.rng.IntN(20); {
		case u < 4 && x.lists:
			k = fmt.Sprintf("list/%d", x.rng.IntN(4))
			if was, there := get(k); x.rng.IntN(2) == 0 && there {
				ops = append(ops, fmt.Sprintf(`{"op":"r","key":%q,"value":%s}`, k, strings.ReplaceAll(fmt.Sprint(was.list), " ", ",")))
			} else if x.values++; len(was.list) < 40 {
				add(k, x.values)
			}
		case u < 6 && x.ranges:
			from := x.rng.IntN(x.rows)
			to := from + 1 + x.rng.IntN(6)
			var rows []string
			for i := from; i < to && i < x.rows; i++ {
				if v, ok := get(fmt.Sprintf("row/%02d", i)); ok {
					rows = append(rows, fmt.Sprintf(`{"key":"row/%02d","value":%d}`, i, v.value))
				}
			}
			ops = append(ops, fmt.Sprintf(`{"op":"range","from":"row/%02d","to":"row/%02d","result":[%s]}`, from, to, strings.Join(rows, ",")))
		case u < 9 && x.deletes:
			was, there := read(k)
			if !there {
				break
			}
			if x.rng.IntN(2) == 0 { // no read before it
				ops = ops[:len(ops)-1]
			}
			delete(own, k)
			gone[k] = true
			prev := ""
			if x.rng.Float64() < x.prev {
				prev = version("prev_version", was.version)
			}
			ops = append(ops, fmt.Sprintf(`{"op":"delete","key":%q%s}`, k, prev))
		case u < 15:
			if u < 12 {
				read(k)
			}
			write(k, x.value(), u < 12)
		default:
			read(k)
		}
	}
	x.end(d, own, gone, writes, retry)
	d.ops = strings.Join(ops, ",")
}

func (x *quietStore) value() int64 {
	if x.small {
		return x.rng.Int64N(8)
	}
	x.values++
	return x.values
}

// end gives the transaction its outcome, and the store what it left.
func (x *quietStore) end(d *quietTxn, own map[string]stored, gone map[string]bool, writes []tried, retry bool) {
	effect := true
	d.status = "committed"
	switch u := x.rng.Float64(); {
	case u < x.unknown:
		d.status, effect = "unknown", x.rng.IntN(2) == 0
		if x.tries && len(writes) > 0 && !retry && x.rng.IntN(4) > 0 {
			x.again = append(x.again, attempt{writes, d.end})
		}
	case u < x.unknown+0.03:
		d.status, effect = "aborted", false
	}
	if !effect {
		return
	}
	for k := range gone {
		delete(x.state, k)
	}
	for k, v := range own {
		x.state[k] = v
	}
}

// alerts are the findings that an alerting sink is given, also to be told that one is taken back.
func alerts(found []finding.Finding) (told []finding.Finding) {
	for i := range found {
		f := &found[i]
		silent := f.State == finding.Waiting || f.Expected || !f.Certain && f.Kind != finding.KindHorizon
		if !silent && f.Kind != finding.KindGap {
			told = append(told, *f)
		}
	}
	return told
}

// monitored runs the machine over the records, and returns what it told.
func monitored(t *testing.T, cfg window.Config, records [][]byte) (told []finding.Finding) {
	t.Helper()
	told, _ = monitoredBy(t, cfg, records)
	return told
}

// monitoredBy is monitored, and returns the machine.
func monitoredBy(t *testing.T, cfg window.Config, records [][]byte) (told []finding.Finding, m *window.Machine) {
	t.Helper()
	m = window.New(cfg)
	b := &event.Batch{Partitions: []string{"sim"}}
	var d event.Decoder
	var eff window.Effects
	var found []finding.Finding
	var txns []int32
	for i, r := range records {
		d.Decode(b, event.Position{Offset: int64(i)}, r)
		if len(b.Bad) > 0 {
			t.Fatalf("bad record %s: %s", r, b.Bad[0].Reason)
		}
		if txns = append(txns, int32(len(txns))); len(txns) == 20 || i == len(records)-1 {
			m.Step(b, txns, 0, &eff)
			found = append(found, eff.Findings...)
			eff.Reset()
			b.Reset()
			b.Partitions = append(b.Partitions, "sim")
			txns = txns[:0]
		}
	}
	m.Close(&eff)
	found = append(found, eff.Findings...)
	return alerts(found), m
}

// quietContracts are contracts that are true of such a store.
func quietContracts() []window.Contract {
	captured := window.Contract{Complete: true, ClockDrift: time.Millisecond}
	observed, version, run, runVersion := captured, captured, defaults(), defaults()
	observed.Observed, version.ByVersion = true, true
	run.ClockDrift = time.Millisecond
	runVersion.ClockDrift, runVersion.ByVersion, runVersion.Observed = time.Millisecond, true, false
	return []window.Contract{run, runVersion, observed, version, captured}
}

// TestHealthyStoresAreSilent: longer than a window, a store that keeps its promise is never accused,
// whatever its records show, in whatever order they come, and with the first third of them missing
// where the contract says that some may be.
func TestHealthyStoresAreSilent(t *testing.T) {
	t.Parallel()
	for seed := range seeds(t, 40) {
		silentStream(t, seed)
	}
}

// silentStream draws a store, a contract that is true of it, and a level that it keeps.
func silentStream(t *testing.T, seed int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(seed), 211))
	contracts := quietContracts()
	c := contracts[seed%len(contracts)]
	unique := c.Complete && !c.Observed && !c.ByVersion
	third := !c.Complete && rng.IntN(2) == 0
	x := &quietStore{
		versions: c.ByVersion || rng.IntN(3) == 0 && !unique, small: !unique && rng.IntN(3) == 0,
		lists: rng.IntN(2) == 0, deletes: rng.IntN(3) > 0, ranges: rng.IntN(3) > 0,
		prev: []float64{0, 0.5, 1}[rng.IntN(3)], rows: []int{5, 20, 60}[rng.IntN(3)], unknown: []float64{0, 0.02, 0.2}[rng.IntN(3)],
		tries: !unique, // a value that is tried again is not unique
	}
	late := []time.Duration{0, time.Millisecond, 50 * time.Millisecond}[rng.IntN(3)]
	records := x.stream(rng, late)
	if third {
		records = records[quietTxns/3:]
	}
	level := []isolation.Level{
		{Base: isolation.Serializable}, {Base: isolation.SnapshotIsolation},
		{Family: isolation.StrongSession, Base: isolation.Serializable}, {Family: isolation.Strong, Base: isolation.Serializable},
	}[rng.IntN(4)]
	cfg := window.Config{
		Levels: []isolation.Level{level}, Expect: level, Contract: c, Window: window.For(quietWindow),
		Lateness: window.For(quietLate), MaxTxn: quietLonger, Pane: 100 * time.Millisecond,
	}
	if rng.IntN(2) == 0 {
		if cfg.Levels = isolation.Watched(); !slices.Contains(cfg.Levels, level) {
			cfg.Levels = append(cfg.Levels, level)
		}
	}
	if told := monitored(t, cfg, records); len(told) > 0 {
		t.Errorf("seed %d: %d told, the first %s%s\n%v\n%s, late %v, third left out %v, %s", seed, len(told), lines(told[:1]), told[0].Explanation, c, level, late, third, x.text())
	}
}

func (x *quietStore) text() string {
	return fmt.Sprintf("versions %v, small %v, lists %v, deletes %v, ranges %v, prev %v, unknown %v, rows %d, tries %v",
		x.versions, x.small, x.lists, x.deletes, x.ranges, x.prev, x.unknown, x.rows, x.tries)
}
