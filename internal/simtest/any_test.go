package simtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// anyStore is a store that runs transactions one at a time, at an instant between begin and end, so
// that it keeps every level. It has registers, lists, sets and counters; clients with clocks that
// differ by less than the drift, that retry what they got no answer to; and, where the contract
// allows them, writers without records and records that are lost.
type anyStore struct {
	rng      *rand.Rand
	contract window.Contract
	unit     time.Duration // the scale of all times
	drift    time.Duration
	keys     int
	small    bool // register values come again
	retries  bool // clients try again, with the same values
	kinds    map[string]bool
	lists    bool // lists are deleted whole
	prev     bool // writes name the version that they replaced
	kindTold bool // operations name their kind
	seqs     bool // records have seq
	unknown  float64
	aborted  float64

	given, fresh int64
	regs         map[string]anyValue
	listOf       map[string][]int64
	setOf        map[string][]int64
	ctrs         map[string]anyValue
	again        []anyTry
	quiet        map[string]int64 // no recorded transaction uses the key before then
	used         map[string]int64 // the end of the latest that did
	jobs         int
	more         anyMore
}

type anyValue struct {
	text    string
	n       int64
	version int64
}

type anyOp struct{ op, key, value string }

type anyTry struct {
	ops   []anyOp
	end   int64
	under int
}

type anyTxn struct {
	session, seq            int
	start, at, end, arrives int64
	status, ops             string
	lost, effect            bool
}

const anyTxns = 400

func (x *anyStore) pick(prefix string) string {
	return fmt.Sprintf("%s/%d", prefix, x.rng.IntN(x.keys))
}

func (x *anyStore) value() string {
	if x.small {
		if n := x.rng.IntN(6); n > 0 || !x.more.nulls {
			return fmt.Sprint(n)
		}
		return "null"
	}
	x.fresh++
	return fmt.Sprint(x.fresh)
}

// job is a writer without records.
func (x *anyStore) job(at int64) {
	safe := func(k string) bool {
		if x.used[k]+4*int64(x.drift) > at || x.quiet[k] > at {
			return false
		}
		x.quiet[k] = at + 4*int64(x.drift)
		x.jobs++
		return true
	}
	x.fresh++
	value := fmt.Sprintf(`"job%d"`, x.fresh)
	if x.rng.IntN(2) == 0 {
		value = fmt.Sprintf(`"job%d"`, x.rng.IntN(3)) // comes again, and no recorded transaction writes it
	}
	switch x.rng.IntN(6) {
	case 0, 1:
		if k := x.pick("row"); x.kinds["row"] && safe(k) {
			x.given++
			x.regs[k] = anyValue{text: value, version: x.given}
		}
	case 2:
		if k := x.pick("row"); x.kinds["row"] && x.contract.DeletesUnseen && safe(k) {
			delete(x.regs, k)
		}
	case 3:
		if k := x.pick("set"); x.kinds["set"] && x.contract.DeletesUnseen && safe(k) {
			x.setOf[k] = nil
		}
	case 4:
		if k := x.pick("ctr"); x.kinds["ctr"] && safe(k) {
			x.given++
			c := x.ctrs[k]
			x.ctrs[k] = anyValue{n: c.n + x.rng.Int64N(9) - 4, version: x.given}
		}
	case 5:
		if k := x.pick("list"); x.kinds["list"] && x.lists && x.contract.DeletesUnseen && safe(k) {
			delete(x.listOf, k)
		}
	}
}

func (x *anyStore) execute(d *anyTxn) {
	regs, lists, sets, ctrs := map[string]*anyValue{}, map[string][]int64{}, map[string][]int64{}, map[string]anyValue{}
	gone := map[string]bool{}
	var ops []string
	var done []anyOp
	v := func(name string, n int64) string {
		if !x.contract.ByVersion || n == 0 {
			return ""
		}
		return fmt.Sprintf(`,%q:%d`, name, n)
	}
	kind := func(k string) string {
		if !x.kindTold {
			return ""
		}
		return fmt.Sprintf(`,"kind":%q`, k)
	}
	reg := func(k string) *anyValue {
		if p, ok := regs[k]; ok {
			return p
		}
		if p, ok := x.regs[k]; ok {
			return &p
		}
		return nil
	}
	list := func(k string) []int64 {
		if l, ok := lists[k]; ok {
			return l
		}
		return x.listOf[k]
	}
	set := func(k string) []int64 {
		if l, ok := sets[k]; ok {
			return l
		}
		return x.setOf[k]
	}
	ctr := func(k string) (anyValue, bool) {
		if c, ok := ctrs[k]; ok {
			return c, true
		}
		c, ok := x.ctrs[k]
		return c, ok
	}
	write := func(op, k, value string) {
		was := reg(k)
		x.given++
		prev := ""
		if x.prev && was != nil {
			prev = v("prev_version", was.version)
		}
		ops = append(ops, fmt.Sprintf(`{"op":%q,"key":%q,"value":%s%s%s%s}`, op, k, value, v("version", x.given), prev, kind("register")))
		regs[k] = &anyValue{text: value, version: x.given}
		done = append(done, anyOp{op, k, value})
	}
	read := func(k string) *anyValue {
		was := reg(k)
		if was == nil {
			ops = append(ops, fmt.Sprintf(`{"op":"r","key":%q,"value":null%s}`, k, v("version", x.more.tombstones[k])))
		} else {
			ops = append(ops, fmt.Sprintf(`{"op":"r","key":%q,"value":%s,"found":true%s}`, k, was.text, v("version", was.version)))
		}
		return was
	}
	appendTo := func(k, value string) {
		var n int64
		fmt.Sscan(value, &n)
		lists[k] = append(slices.Clone(list(k)), n)
		gone[k] = false
		ops = append(ops, fmt.Sprintf(`{"op":"append","key":%q,"value":%s%s}`, k, value, kind("list")))
		done = append(done, anyOp{"append", k, value})
	}
	addTo := func(k, value string) {
		var n int64
		fmt.Sscan(value, &n)
		if l := slices.Clone(set(k)); !slices.Contains(l, n) {
			sets[k] = append(l, n)
		}
		ops = append(ops, fmt.Sprintf(`{"op":"add","key":%q,"value":%s%s}`, k, value, kind("set")))
		done = append(done, anyOp{"add", k, value})
	}
	removeFrom := func(k, value string) {
		var n int64
		fmt.Sscan(value, &n)
		sets[k] = slices.DeleteFunc(slices.Clone(set(k)), func(e int64) bool { return e == n })
		if sets[k] == nil {
			sets[k] = []int64{}
		}
		ops = append(ops, fmt.Sprintf(`{"op":"remove","key":%q,"value":%s%s}`, k, value, kind("set")))
		done = append(done, anyOp{"remove", k, value})
	}
	free := func(k string) bool { return x.quiet[k] < d.at-int64(4*x.drift)-(d.end-d.start) }
	retry, failed := -1, false
	if len(x.again) > 0 && x.again[0].end < d.start && x.rng.IntN(2) == 0 && !slices.ContainsFunc(x.again[0].ops, func(o anyOp) bool { return !free(o.key) }) {
		a := x.again[0]
		x.again = x.again[1:]
		retry = a.under
		for _, o := range a.ops {
			switch o.op {
			case "append":
				appendTo(o.key, o.value)
			case "add":
				addTo(o.key, o.value)
			case "remove":
				removeFrom(o.key, o.value)
			case "w", "insert":
				read(o.key)
				write("w", o.key, o.value)
			}
		}
	}
	var names []string
	for _, k := range []string{"row", "list", "set", "ctr"} {
		if x.kinds[k] {
			names = append(names, k)
		}
	}
	for n := 1 + x.rng.IntN(4); n > 0 && retry < 0; n-- {
		what := names[x.rng.IntN(len(names))]
		k := x.pick(what)
		if !free(k) {
			continue
		}
		u := x.rng.IntN(12)
		switch what {
		case "row":
			switch {
			case u < 4:
				read(k)
			case u < 7:
				if was := read(k); was == nil {
					write("insert", k, x.value())
				} else {
					write("w", k, x.value())
				}
			case u < 8:
				if x.more.inserts && reg(k) != nil && x.rng.IntN(3) == 0 { // it fails
					write("insert", k, x.value())
					n, failed = 0, true
				} else {
					write("w", k, x.value())
				}
			case u < 9:
				if reg(k) != nil {
					if x.rng.IntN(2) == 0 {
						read(k)
					}
					prev := ""
					if x.prev {
						prev = v("prev_version", reg(k).version)
					}
					ops = append(ops, fmt.Sprintf(`{"op":"delete","key":%q%s%s}`, k, prev, kind("register")))
					regs[k] = nil
					done = append(done, anyOp{"delete", k, ""})
				}
			case u < 10:
				from := x.rng.IntN(x.keys)
				to := from + 1 + x.rng.IntN(3)
				var rows []string
				blocked := false
				for i := from; i < to && i < x.keys; i++ {
					key := fmt.Sprintf("row/%d", i)
					blocked = blocked || !free(key)
					if r := reg(key); r != nil {
						rows = append(rows, fmt.Sprintf(`{"key":%q,"value":%s%s}`, key, r.text, v("version", r.version)))
					}
				}
				if !blocked && x.keys <= 10 {
					how, rows := x.more.limit(rows)
					ops = append(ops, fmt.Sprintf(`{"op":"range","from":"row/%d","to":"row/%d",%s"result":[%s]}`, from, min(to, 9), how, strings.Join(rows, ",")))
					for i := from; i < to; i++ {
						x.used[fmt.Sprintf("row/%d", i)] = max(x.used[fmt.Sprintf("row/%d", i)], d.end)
					}
				}
			default:
				was := reg(k)
				if x.contract.ByVersion || was == nil || was.text == "null" {
					break
				}
				if x.rng.IntN(2) == 0 {
					value := x.value()
					if value == was.text || value == "null" {
						break
					}
					ops = append(ops, fmt.Sprintf(`{"op":"cas","key":%q,"expected":%s,"value":%s,"success":true}`, k, was.text, value))
					regs[k] = &anyValue{text: value}
				} else {
					ops = append(ops, fmt.Sprintf(`{"op":"cas","key":%q,"expected":"other","value":%s,"success":false,"seen":%s}`, k, x.value(), was.text))
				}
			}
		case "list":
			switch {
			case u < 5:
				ops = append(ops, fmt.Sprintf(`{"op":"r","key":%q,"value":%s,"kind":"list"}`, k, anyList(list(k))))
			case u < 11 || !x.lists:
				if len(list(k)) < 30 {
					x.fresh++
					appendTo(k, fmt.Sprint(x.fresh))
				}
			default:
				ops = append(ops, fmt.Sprintf(`{"op":"delete","key":%q,"kind":"list"}`, k))
				lists[k], gone[k] = []int64{}, true
				done = append(done, anyOp{"delete", k, ""})
			}
		case "set":
			switch {
			case u < 5:
				ops = append(ops, fmt.Sprintf(`{"op":"r","key":%q,"value":%s,"kind":"set"}`, k, anyList(set(k))))
			case u < 9:
				value := x.rng.Int64N(8)
				if !x.small {
					x.fresh++
					value = x.fresh
				}
				addTo(k, fmt.Sprint(value))
			default:
				if l := set(k); len(l) > 0 {
					removeFrom(k, fmt.Sprint(l[x.rng.IntN(len(l))]))
				}
			}
		case "ctr":
			c, there := ctr(k)
			if u < 5 {
				if there {
					ops = append(ops, fmt.Sprintf(`{"op":"r","key":%q,"value":%d,"kind":"counter"%s}`, k, c.n, v("version", c.version)))
				}
			} else {
				by := x.rng.Int64N(9) - 3
				x.given++
				prev := v("prev_version", c.version)
				ops = append(ops, fmt.Sprintf(`{"op":"inc","key":%q,"value":%d%s%s%s}`, k, by, v("version", x.given), prev, kind("counter")))
				ctrs[k] = anyValue{n: c.n + by, version: x.given}
				done = append(done, anyOp{"inc", k, fmt.Sprint(by)})
			}
		}
		x.used[k] = max(x.used[k], d.end)
	}
	d.ops = strings.Join(ops, ",")
	effect := true
	d.status = "committed"
	switch u := x.rng.Float64(); {
	case u < x.unknown:
		d.status, effect = "unknown", x.rng.IntN(2) == 0
	case u < x.unknown+x.aborted:
		d.status, effect = "aborted", false
	}
	if failed {
		d.status, effect = "aborted", false
	}
	d.effect = effect
	if d.status != "committed" && x.retries && len(done) > 0 && x.rng.IntN(4) > 0 && max(0, retry) < 3 &&
		!slices.ContainsFunc(done, func(o anyOp) bool { return o.op == "delete" || o.op == "inc" }) {
		x.again = append(x.again, anyTry{done, d.end, max(0, retry) + 1})
	}
	if !effect {
		return
	}
	for k, p := range regs {
		if p == nil {
			delete(x.regs, k)
		} else {
			x.regs[k] = *p
		}
	}
	for k, l := range lists {
		x.listOf[k] = l
	}
	for k, l := range sets {
		x.setOf[k] = l
	}
	for k, c := range ctrs {
		x.ctrs[k] = c
	}
}

func anyList(l []int64) string {
	return "[" + strings.Trim(strings.ReplaceAll(fmt.Sprint(l), " ", ","), "[]") + "]"
}

// stream is the records in the order in which they arrive.
func (x *anyStore) stream(late time.Duration, lose int) (records [][]byte) {
	x.regs, x.listOf, x.setOf, x.ctrs = map[string]anyValue{}, map[string][]int64{}, map[string][]int64{}, map[string]anyValue{}
	x.quiet, x.used = map[string]int64{}, map[string]int64{}
	if x.contract.Existing {
		for i := range x.keys {
			if x.rng.IntN(3) > 0 {
				x.given++
				x.regs[fmt.Sprintf("row/%d", i)] = anyValue{text: x.value(), version: x.given}
			}
			if x.rng.IntN(3) > 0 {
				x.fresh += 2
				x.listOf[fmt.Sprintf("list/%d", i)] = []int64{x.fresh - 1, x.fresh}
				x.setOf[fmt.Sprintf("set/%d", i)] = []int64{x.fresh - 1, x.fresh}
			}
			x.given++
			x.ctrs[fmt.Sprintf("ctr/%d", i)] = anyValue{n: x.rng.Int64N(100), version: x.given}
		}
	} else {
		for i := range x.keys {
			x.ctrs[fmt.Sprintf("ctr/%d", i)] = anyValue{}
		}
	}
	sessions := 2 + x.rng.IntN(6)
	free, seq, skew, lostSession := make([]int64, sessions), make([]int, sessions), make([]int64, sessions), make([]bool, sessions)
	for s := range sessions {
		if x.drift > 0 {
			skew[s] = x.rng.Int64N(int64(x.drift))
		}
		lostSession[s] = lose == 1 && x.rng.IntN(2) == 0
	}
	const begun = int64(time.Hour)
	var all []*anyTxn
	for i := range anyTxns {
		s := x.rng.IntN(sessions)
		longest := []int64{int64(x.unit) / 5, int64(x.unit), 5 * int64(x.unit), 20 * int64(x.unit)}[x.rng.IntN(4)]
		d := &anyTxn{session: s, start: max(free[s]+1000, begun+int64(i+1)*int64(x.unit)+x.rng.Int64N(int64(x.unit)))}
		d.at = d.start + 1 + x.rng.Int64N(longest)
		d.end = d.at + 1 + x.rng.Int64N(longest)
		seq[s]++
		d.seq, free[s] = seq[s], d.end
		d.arrives = d.end + x.rng.Int64N(int64(late)+1)
		d.lost = lostSession[s] || lose == 2 && x.rng.IntN(3) == 0 || lose == 3 && i < anyTxns/3
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *anyTxn) int { return cmp.Compare(a.at, b.at) })
	before := all[0].at
	for _, d := range all {
		if x.contract.UnmonitoredWriters && x.rng.IntN(4) == 0 {
			x.job(before + (d.at-before)/2)
		}
		x.execute(d)
		before = d.at
	}
	slices.SortFunc(all, func(a, b *anyTxn) int { return cmp.Compare(a.arrives, b.arrives) })
	last := int64(0)
	for _, d := range all {
		last = max(last, d.end)
		if d.lost && (x.contract.DeletesUnseen || !strings.Contains(d.ops, `"op":"delete"`)) {
			continue
		}
		number := ""
		if x.seqs {
			number = fmt.Sprintf(`,"seq":%d`, d.seq)
		}
		records = append(records, fmt.Appendf(nil, `{"txn":"s%d-%d"%s,"status":%q%s,"ops":[%s]}`,
			d.session, d.seq, x.more.session(d.session, number), d.status, x.more.rest(d, skew[d.session]), d.ops))
		records = x.more.again(records, d)
	}
	for i := range 200 {
		at := last + int64(x.drift) + int64(i+1)*int64(5*x.unit)
		records = append(records, fmt.Appendf(nil, `{"txn":"quiet-%d","session":"quiet","seq":%d,"status":"committed","start":%d,"end":%d,"ops":[{"op":"append","key":"unrelated","value":%d}]}`, i, i+1, at, at+1000, i))
	}
	if x.more.timeless {
		for i := range records {
			records[i] = anyTimes.ReplaceAll(records[i], nil)
		}
	}
	return records
}

// TestAnyHealthyStoreIsSilent: a store that keeps every level is never accused, for any kind of data,
// under any contract that is true of it.
func TestAnyHealthyStoreIsSilent(t *testing.T) {
	t.Parallel()
	for seed := range seeds(t, 100) {
		anyStream(t, seed)
	}
}

func anyStream(t *testing.T, seed int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(seed), 977))
	coin := func() bool { return rng.IntN(2) == 0 }
	c := window.Contract{Complete: coin(), Existing: coin()}
	c.DeletesUnseen = coin()
	c.UnmonitoredWriters = !c.Complete && coin()
	switch rng.IntN(3) {
	case 0:
		c.ByVersion = true
	case 1, 2:
		c.Observed = true
	}
	if rng.IntN(4) == 0 {
		c = defaults()
		if rng.IntN(3) == 0 {
			c.ByVersion, c.Observed = true, false
		}
	}
	unit := time.Millisecond
	c.ClockDrift = []time.Duration{0, unit, 20 * unit}[rng.IntN(3)]
	lose := 0
	if !c.Complete && c.UnmonitoredWriters {
		lose = rng.IntN(4)
	} else if !c.Complete {
		lose = []int{0, 2}[rng.IntN(2)]
	}
	x := &anyStore{
		rng: rng, contract: c, unit: unit, drift: c.ClockDrift, keys: []int{2, 4, 9}[rng.IntN(3)], small: coin(), retries: coin(),
		kinds: map[string]bool{}, lists: coin() && os.Getenv("NOLISTS") == "", prev: coin(), kindTold: coin(), seqs: rng.IntN(4) > 0,
		unknown: []float64{0, 0.03, 0.2}[rng.IntN(3)], aborted: []float64{0, 0.05, 0.2}[rng.IntN(3)],
	}
	kinds := []string{"row", "list", "set", "ctr"}
	for _, k := range kinds {
		x.kinds[k] = rng.IntN(3) == 0
	}
	x.kinds[kinds[rng.IntN(4)]] = true
	late := []time.Duration{0, unit, 50 * unit}[rng.IntN(3)]
	if seed >= anyMoreFrom {
		x.more.draw(seed, x, lose)
		c = x.contract
	}
	records := x.stream(late, lose)
	level := []isolation.Level{
		{Base: isolation.Serializable}, {Base: isolation.SnapshotIsolation}, {Base: isolation.ReadCommitted},
		{Family: isolation.StrongSession, Base: isolation.Serializable}, {Family: isolation.Strong, Base: isolation.Serializable},
		{Family: isolation.Strong, Base: isolation.SnapshotIsolation},
	}[rng.IntN(6)]
	cfg := window.Config{
		Levels: []isolation.Level{level}, Expect: level, Contract: c, Window: window.For([]time.Duration{150 * unit, 10000 * unit}[rng.IntN(2)]),
		Lateness: window.For(60*unit + c.ClockDrift), MaxTxn: 50 * unit, Pane: 100 * unit,
	}
	for i := range 8 {
		cfg.Sessions = append(cfg.Sessions, fmt.Sprintf("s%d", i))
	}
	cfg.Sessions = append(cfg.Sessions, "quiet")
	if coin() {
		if cfg.Levels = isolation.Watched(); !slices.Contains(cfg.Levels, level) {
			cfg.Levels = append(cfg.Levels, level)
		}
	}
	if told := accusations(t, cfg, records); len(told) > 0 {
		t.Errorf("seed %d: %d told, the first %s%s\n%v\n%s, late %v, lose %d, jobs %d, %v keys %d small %v retries %v lists %v prev %v kind %v seqs %v unknown %v aborted %v window %v %+v", seed, len(told), lines(told[:1]), told[0].Explanation, c, level,
			late, lose, x.jobs, x.kinds, x.keys, x.small, x.retries, x.lists, x.prev, x.kindTold, x.seqs, x.unknown, x.aborted, cfg.Window, x.more)
		if os.Getenv("ISOWATCH_SHRINK") != "" {
			shrink(t, cfg, records)
		}
	}
}
