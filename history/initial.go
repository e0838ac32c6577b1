package history

import "slices"

// A history's conventions tell reads of the initial version. This file turns them into reads
// that found nothing.

// setInitial takes the writes of t as the initial versions of their keys.
func (p *plain) setInitial(t *plainTxn) {
	if p.initials == nil {
		p.initials = map[keyValue]bool{}
	}
	for _, o := range p.opsOf(t) {
		p.initials[keyValue{o.key, o.value}] = true
	}
	for n := len(p.ranges); n > 0 && p.ranges[n-1].op >= t.first; n-- {
		p.ranges = p.ranges[:n-1]
	}
	p.ops = p.ops[:t.first]
	t.count = 0
}

// markInitial marks the reads of initial versions. Where 0 is the initial value, keys to which
// 0 is written later on are returned instead. A read of 0 there may be of the initial version
// or of that write.
//
// A first transaction that only writes zeros, and is the only one of its session, sets up the
// initial version (IsoVista's form). It loses its operations.
func (p *plain) markInitial() (reset []int64) {
	if len(p.initials) > 0 {
		p.markReads(func(v keyValue) bool { return p.initials[v] })
	}
	if p.unwrittenInitial {
		p.markUnwritten()
	}
	if len(p.ranges) > 0 {
		p.widenRanges()
	}
	if !p.initialZero {
		return nil
	}
	if p.setsUp() {
		p.txns[0].count = 0
	}
	written := map[int64]bool{}
	for i := range p.txns {
		for _, o := range p.opsOf(&p.txns[i]) {
			if o.flags&isWrite != 0 && o.value == 0 && !written[o.key] {
				written[o.key] = true
				reset = append(reset, o.key)
			}
		}
	}
	p.markReads(func(v keyValue) bool { return v.value == 0 && (len(written) == 0 || !written[v.key]) })
	return reset
}

// markReads marks the reads of versions that first says are initial.
func (p *plain) markReads(first func(keyValue) bool) {
	for i := range p.ops {
		if o := &p.ops[i]; o.flags&isWrite == 0 && first(keyValue{o.key, o.value}) {
			o.flags |= initial
		}
	}
}

func (p *plain) setsUp() bool {
	if len(p.txns) < 2 || p.txns[0].count == 0 {
		return false
	}
	other := func(o plainOp) bool { return o.flags&isWrite == 0 || o.value != 0 }
	again := func(t plainTxn) bool { return t.session == p.txns[0].session }
	return !slices.ContainsFunc(p.opsOf(&p.txns[0]), other) && !slices.ContainsFunc(p.txns[1:], again)
}

// markUnwritten marks the reads of a value that nobody wrote, if it is the only
// one such of its key.
func (p *plain) markUnwritten() {
	writes := 0
	for i := range p.ops {
		writes += int(p.ops[i].flags & isWrite)
	}
	written := newVersionSet(writes)
	for i := range p.ops {
		if o := &p.ops[i]; o.flags&isWrite != 0 {
			written.add(keyValue{o.key, o.value})
		}
	}
	type found struct {
		value   int64
		several bool
	}
	unwritten := map[int64]found{}
	for i := range p.ops {
		o := &p.ops[i]
		if o.flags&(isWrite|initial) != 0 || written.has(keyValue{o.key, o.value}) {
			continue
		}
		f, known := unwritten[o.key]
		unwritten[o.key] = found{o.value, f.several || known && f.value != o.value}
	}
	if len(unwritten) == 0 {
		return
	}
	p.markReads(func(v keyValue) bool {
		f, known := unwritten[v.key]
		return known && !f.several && f.value == v.value
	})
}

// plainRange is a range, whose rows are the operations from op to end.
type plainRange struct {
	txn, op, end uint32
	low, high    plainBound
}

type plainBound struct {
	key  int64
	open bool
}

// widenRanges adds to each range reads that found nothing. There is one for each key of the
// history between its bounds that it did not return: Viper's tombstones make the others show.
// Keys on a bound are left out, since nothing says whether it counts.
func (p *plain) widenRanges() {
	var keys []int64
	seen := map[int64]bool{}
	for _, o := range p.ops {
		if !seen[o.key] {
			seen[o.key] = true
			keys = append(keys, o.key)
		}
	}
	slices.Sort(keys)
	var ops []plainOp
	next := 0
	for i := range p.txns {
		t := &p.txns[i]
		first := uint32(len(ops))
		from := t.first
		for ; next < len(p.ranges) && p.ranges[next].txn == uint32(i); next++ {
			r := &p.ranges[next]
			rows := p.ops[r.op:r.end]
			ops = append(ops, p.ops[from:r.end]...)
			ops = appendUnreturned(ops, keys, r, rows)
			from = r.end
		}
		ops = append(ops, p.ops[from:t.first+t.count]...)
		t.first, t.count = first, uint32(len(ops))-first
	}
	p.ops = ops
}

func appendUnreturned(ops []plainOp, keys []int64, r *plainRange, rows []plainOp) []plainOp {
	returned := make(map[int64]bool, len(rows))
	for _, o := range rows {
		returned[o.key] = true
	}
	from := 0
	if !r.low.open {
		from, _ = slices.BinarySearch(keys, r.low.key)
	}
	for _, k := range keys[from:] {
		if !r.high.open && k >= r.high.key {
			break
		}
		if !returned[k] && (r.low.open || k > r.low.key) {
			ops = append(ops, plainOp{key: k, flags: initial})
		}
	}
	return ops
}
