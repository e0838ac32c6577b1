package simtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// anyRun is a transaction of anyStore while it runs: what it wrote, by key, and what its record says.
type anyRun struct {
	x           *anyStore
	d           *anyTxn
	rows        map[string]*anyRow // nil: it deleted the row
	lists, sets map[string][]int64
	counters    map[string]anyRow
	ops         []string
	writes      []anyWrite
	tries       int
	failed      bool
}

// execute runs the operations: those of an earlier attempt, or new ones.
func (r *anyRun) execute() {
	x := r.x
	if len(x.again) > 0 && x.again[0].end < r.d.start && x.rng.IntN(2) == 0 && !slices.ContainsFunc(x.again[0].writes, func(w anyWrite) bool { return !r.free(w.key) }) {
		again := x.again[0]
		x.again, r.tries = x.again[1:], again.tries+1
		for _, w := range again.writes {
			r.doAgain(w)
		}
	}
	for n := 1 + x.rng.IntN(4); n > 0 && r.tries == 0 && !r.failed; n-- {
		k := x.key(x.kinds[x.rng.IntN(len(x.kinds))])
		if !r.free(k) {
			continue
		}
		switch kind, _, _ := strings.Cut(k, "/"); kind {
		case "row":
			r.useRow(k)
		case "list":
			r.useList(k)
		case "set":
			r.useSet(k)
		case "ctr":
			r.useCounter(k)
		}
	}
	r.d.ops = strings.Join(r.ops, ",")
}

// free says whether no job touched the key while the transaction ran, nor just before, by anybody's clock.
func (r *anyRun) free(k string) bool {
	return r.x.quiet[k] < r.d.commits-4*int64(r.x.contract.ClockDrift)-(r.d.end-r.d.start)
}

// say adds an operation to the record.
func (r *anyRun) say(k, format string, args ...any) {
	r.ops = append(r.ops, "{"+fmt.Sprintf(format, args...)+"}")
	r.x.used[k] = max(r.x.used[k], r.d.end)
}

func (r *anyRun) doAgain(w anyWrite) {
	n, _ := strconv.ParseInt(w.value, 10, 64) // a row's is not needed
	switch w.op {
	case "append":
		r.append(w.key, n)
	case "add":
		r.add(w.key, n)
	case "remove":
		r.remove(w.key, n)
	default:
		r.read(w.key)
		r.write("w", w.key, w.value)
	}
}

func (r *anyRun) useRow(k string) {
	x := r.x
	switch u := x.rng.IntN(12); {
	case u < 4:
		r.read(k)
	case u < 7:
		op := "w"
		if r.read(k) == nil {
			op = "insert"
		}
		r.write(op, k, x.value())
	case u < 8 && x.records.inserts && r.row(k) != nil && x.rng.IntN(3) == 0:
		r.write("insert", k, x.value())
		r.failed = true
	case u < 8:
		r.write("w", k, x.value())
	case u < 9:
		r.delete(k)
	case u < 10:
		r.scan()
	case !x.contract.ByVersion: // a cas names no versions
		r.compareAndSet(k)
	}
}

func (r *anyRun) useList(k string) {
	list := r.list(k)
	switch u := r.x.rng.IntN(12); {
	case u < 5:
		r.say(k, `"op":"r","key":%q,"value":%s,"kind":"list"`, k, elements(list))
	case u == 11 && r.x.lists:
		r.say(k, `"op":"delete","key":%q,"kind":"list"`, k)
		r.lists[k] = []int64{}
		r.writes = append(r.writes, anyWrite{"delete", k, ""})
	case len(list) < 30:
		r.x.fresh++
		r.append(k, r.x.fresh)
	}
}

func (r *anyRun) useSet(k string) {
	set := r.set(k)
	switch u := r.x.rng.IntN(12); {
	case u < 5:
		r.say(k, `"op":"r","key":%q,"value":%s,"kind":"set"`, k, elements(set))
	case u < 9 && r.x.small:
		r.add(k, r.x.rng.Int64N(8))
	case u < 9:
		r.x.fresh++
		r.add(k, r.x.fresh)
	case len(set) > 0:
		r.remove(k, set[r.x.rng.IntN(len(set))])
	}
}

func (r *anyRun) useCounter(k string) {
	was, ok := r.counters[k]
	if !ok {
		was = r.x.counters[k]
	}
	if r.x.rng.IntN(12) < 5 {
		r.say(k, `"op":"r","key":%q,"value":%d,"kind":"counter"%s`, k, was.n, r.version("version", was.version))
		return
	}
	by := r.x.rng.Int64N(9) - 3
	r.x.versions++
	r.say(k, `"op":"inc","key":%q,"value":%d%s%s%s`, k, by, r.version("version", r.x.versions), r.version("prev_version", was.version), r.kind("counter"))
	r.counters[k] = anyRow{n: was.n + by, version: r.x.versions}
	r.writes = append(r.writes, anyWrite{"inc", k, fmt.Sprint(by)})
}

func (r *anyRun) row(k string) *anyRow {
	if row, ok := r.rows[k]; ok {
		return row
	}
	if row, ok := r.x.rows[k]; ok {
		return &row
	}
	return nil
}

func (r *anyRun) list(k string) []int64 {
	if list, ok := r.lists[k]; ok {
		return list
	}
	return r.x.listOf[k]
}

func (r *anyRun) set(k string) []int64 {
	if set, ok := r.sets[k]; ok {
		return set
	}
	return r.x.setOf[k]
}

func (r *anyRun) read(k string) *anyRow {
	row := r.row(k)
	switch {
	case row == nil:
		r.say(k, `"op":"r","key":%q,"value":null`, k)
	case row.text == "null":
		r.say(k, `"op":"r","key":%q,"value":null,"found":true%s`, k, r.version("version", row.version))
	default:
		r.say(k, `"op":"r","key":%q,"value":%s%s`, k, row.text, r.version("version", row.version))
	}
	return row
}

func (r *anyRun) write(op, k, value string) {
	prev := r.replaced(k)
	r.x.versions++
	r.say(k, `"op":%q,"key":%q,"value":%s%s%s%s`, op, k, value, r.version("version", r.x.versions), prev, r.kind("register"))
	r.rows[k] = &anyRow{text: value, version: r.x.versions}
	r.writes = append(r.writes, anyWrite{op, k, value})
}

func (r *anyRun) delete(k string) {
	if r.row(k) == nil {
		return
	}
	if r.x.rng.IntN(2) == 0 {
		r.read(k)
	}
	r.say(k, `"op":"delete","key":%q%s%s`, k, r.replaced(k), r.kind("register"))
	r.rows[k] = nil
	r.writes = append(r.writes, anyWrite{"delete", k, ""})
}

// scan reads some rows, if no job touched one.
func (r *anyRun) scan() {
	from := r.x.rng.IntN(r.x.keys)
	to := min(from+1+r.x.rng.IntN(3), r.x.keys)
	var rows []string
	for i := from; i < to; i++ {
		k := fmt.Sprintf("row/%d", i)
		if !r.free(k) {
			return
		}
		if row := r.row(k); row != nil {
			rows = append(rows, fmt.Sprintf(`{"key":%q,"value":%s%s}`, k, row.text, r.version("version", row.version)))
		}
	}
	for i := from; i < to; i++ {
		k := fmt.Sprintf("row/%d", i)
		r.x.used[k] = max(r.x.used[k], r.d.end)
	}
	how, rows := r.x.records.limit(rows)
	r.say("", `"op":"range","from":"row/%d","to":"row/%d",%s"result":[%s]`, from, to, how, strings.Join(rows, ","))
}

func (r *anyRun) compareAndSet(k string) {
	row, value := r.row(k), r.x.value()
	switch {
	case row == nil || row.text == value || row.text == "null" || value == "null":
	case r.x.rng.IntN(2) == 0:
		r.say(k, `"op":"cas","key":%q,"expected":"other","value":%s,"success":false,"seen":%s`, k, value, row.text)
	default:
		r.say(k, `"op":"cas","key":%q,"expected":%s,"value":%s,"success":true`, k, row.text, value)
		r.rows[k] = &anyRow{text: value}
		r.writes = append(r.writes, anyWrite{"w", k, value})
	}
}

func (r *anyRun) append(k string, n int64) {
	r.say(k, `"op":"append","key":%q,"value":%d%s`, k, n, r.kind("list"))
	r.lists[k] = append(slices.Clone(r.list(k)), n)
	r.writes = append(r.writes, anyWrite{"append", k, fmt.Sprint(n)})
}

func (r *anyRun) add(k string, n int64) {
	r.say(k, `"op":"add","key":%q,"value":%d%s`, k, n, r.kind("set"))
	r.remains(k, n)
	r.sets[k] = append(r.sets[k], n)
	r.writes = append(r.writes, anyWrite{"add", k, fmt.Sprint(n)})
}

func (r *anyRun) remove(k string, n int64) {
	r.say(k, `"op":"remove","key":%q,"value":%d%s`, k, n, r.kind("set"))
	r.remains(k, n)
	r.writes = append(r.writes, anyWrite{"remove", k, fmt.Sprint(n)})
}

// remains takes the element out of the set.
func (r *anyRun) remains(k string, n int64) {
	r.sets[k] = slices.DeleteFunc(append([]int64{}, r.set(k)...), func(e int64) bool { return e == n })
}

// commit gives the transaction its outcome, and the store what it left.
func (r *anyRun) commit() {
	x, d := r.x, r.d
	u := x.rng.Float64()
	refused := r.failed || x.snapshots && slices.ContainsFunc(r.writes, func(w anyWrite) bool { return x.written[w.key] > d.reads })
	effect := false
	switch {
	case u < x.unknown:
		d.status, effect = "unknown", u < x.unknown/2 && !refused
	case u < x.unknown+x.aborted || refused:
		d.status = "aborted"
	default:
		d.status, effect = "committed", true
	}
	if d.status != "committed" && x.retries && len(r.writes) > 0 && r.tries < 3 && x.rng.IntN(4) > 0 &&
		!slices.ContainsFunc(r.writes, func(w anyWrite) bool { return w.op == "delete" || w.op == "inc" }) {
		x.again = append(x.again, anyRetry{r.writes, d.end, r.tries})
	}
	if d.effect = effect; effect {
		r.leave()
	}
}

func (r *anyRun) leave() {
	for _, w := range r.writes {
		r.x.written[w.key] = r.d.commits
	}
	for k, row := range r.rows {
		if row == nil {
			delete(r.x.rows, k)
		} else {
			r.x.rows[k] = *row
		}
	}
	for k, list := range r.lists {
		r.x.listOf[k] = list
	}
	for k, set := range r.sets {
		r.x.setOf[k] = set
	}
	for k, row := range r.counters {
		r.x.counters[k] = row
	}
}

// replaced names the version of the row, if writes do.
func (r *anyRun) replaced(k string) string {
	if row := r.row(k); r.x.prev && row != nil {
		return r.version("prev_version", row.version)
	}
	return ""
}

func (r *anyRun) version(field string, n int64) string {
	if !r.x.contract.ByVersion || n == 0 {
		return ""
	}
	return fmt.Sprintf(`,%q:%d`, field, n)
}

func (r *anyRun) kind(of string) string {
	if !r.x.told {
		return ""
	}
	return fmt.Sprintf(`,"kind":%q`, of)
}

func elements(of []int64) string {
	return strings.ReplaceAll(fmt.Sprint(append([]int64{}, of...)), " ", ",")
}
