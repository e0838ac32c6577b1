package infer

import "github.com/isowatch/isowatch/event"

// At 64,000 live transactions the tables are larger than the caches. A transaction touches some thirty
// places in these tables, and finds most of them by way of another place. So the places of many
// transactions are looked up first, in loops whose rounds do not depend on each other. The processor
// then waits for several at a time.

// Plan looks up the keys and versions that these transactions, which [State.Add] takes next, will meet.
// Where it finds them, Add does not look again. It returns transactions that edges will join them with,
// valid until the next call.
func (s *memory) Plan(b *event.Batch, txns []int32) []uint32 {
	s.near, s.walk = s.near[:0], s.walk[:0]
	s.plan, s.planOf, s.planAt = s.plan[:0], s.planOf[:0], 0
	s.planned, s.planFreed = b, s.freed
	if len(s.byKey.slots) == 0 || len(s.byVersion.slots) == 0 || len(s.byID.slots) == 0 {
		s.planned = nil
		return nil
	}
	// Each loop is a function of its own, so its variables stay in registers.
	sum := s.planOps(b, txns)
	sum += planKeyHomes(s.plan, b.Ops, s.byKey.slots)
	for i := range s.plan {
		if o := &b.Ops[s.plan[i].op]; o.Kind != event.Read {
			sum += s.values.warm(versionHash(0, o.ValueHash) ^ o.KeyHash.Lo)
		}
	}
	sum += planKeys(s.plan, &s.byKey, s.keys)
	sum += planVersionHomes(s.plan, b.Ops, s.byVersion.slots)
	sum += planVersions(s.plan, &s.byVersion, s.versions)
	confirmKeys(s.plan, b.Ops, s.keys)
	sum += s.planReaders(b.Ops)
	s.warmed = sum
	return s.near
}

// planOps lists the operations of these transactions.
func (s *memory) planOps(b *event.Batch, txns []int32) (sum uint64) {
	plan, of := s.plan, s.planOf
	for _, i := range txns {
		t := &b.Txns[i]
		sum += s.byID.home(t.IDHash.Lo)
		n := t.NumOps
		if n > maxPlanned || t.Epoch.Len > 0 {
			n = 0 // a large one's own operations overlap well enough
		}
		of = append(of, planOf{first: uint32(len(plan)), n: n, op: t.FirstOp})
		for op := t.FirstOp; op < t.FirstOp+n; op++ {
			plan = append(plan, planned{op: op})
		}
	}
	s.plan, s.planOf = plan, of
	return sum
}

// planKeyHomes looks up where looking for the keys begins.
func planKeyHomes(plan []planned, ops []event.Op, slots []uint64) (sum uint64) {
	for i := range plan {
		p := &plan[i]
		p.fp = fingerprint(ops[p.op].KeyHash.Lo)
		sum += slots[int(p.fp)&(len(slots)-1)]
	}
	return sum
}

// planKeys finds what may be the keys.
func planKeys(plan []planned, x *index, keys []key) (sum uint64) {
	slots := x.slots
	for i := range plan {
		p := &plan[i]
		slot := slots[int(p.fp)&(len(slots)-1)]
		if uint32(slot>>32) != p.fp && slot != 0 {
			slot = x.next(p.fp)
		}
		p.key = uint32(slot)
		sum += uint64(keys[uint32(slot)].stamp)
	}
	return sum
}

// planVersionHomes looks up where looking for the versions begins.
func planVersionHomes(plan []planned, ops []event.Op, slots []uint64) (sum uint64) {
	for i := range plan {
		p := &plan[i]
		p.fp = fingerprint(versionHash(p.key, ops[p.op].ValueHash))
		sum += slots[int(p.fp)&(len(slots)-1)]
	}
	return sum
}

// planVersions finds what may be the versions.
func planVersions(plan []planned, x *index, versions []version) (sum uint64) {
	slots := x.slots
	for i := range plan {
		p := &plan[i]
		slot := slots[int(p.fp)&(len(slots)-1)]
		if uint32(slot>>32) != p.fp && slot != 0 {
			slot = x.next(p.fp)
		}
		p.version = uint32(slot)
		sum += uint64(versions[uint32(slot)].writer)
	}
	return sum
}

// confirmKeys forgets the places that hold other keys.
func confirmKeys(plan []planned, ops []event.Op, keys []key) {
	for i := range plan {
		p := &plan[i]
		if x, h := &keys[p.key], &ops[p.op].KeyHash; x.hash.Lo != h.Lo || x.hash.Hi != h.Hi {
			p.key = 0
		}
	}
}

// planReaders forgets the versions that are others, and looks up the readers of
// those that will be overwritten, and the writers.
func (s *memory) planReaders(ops []event.Op) (sum uint64) {
	versions, readers, plan, near := s.versions, s.readers, s.plan, s.near
	for i := range plan {
		p := &plan[i]
		v := &versions[p.version]
		if h := &ops[p.op].ValueHash; v.key != p.key || p.key == 0 || v.hash.Lo != h.Lo || v.hash.Hi != h.Hi {
			p.version = 0
			continue
		}
		if v.writer != 0 {
			near = append(near, v.writer)
		}
		sum += uint64(readers[v.readers].txn)
		if v.readers != 0 && i+1 < len(plan) && plan[i+1].key == p.key { // who reads and writes walks the readers
			s.walk = append(s.walk, v.readers)
		}
	}
	walk := s.walk
	for range warmReaders {
		k := 0
		for _, at := range walk {
			r, more := &readers[at], 0
			near = append(near, r.txn)
			walk[k] = r.older
			// Behind the oldest one is another object, or nothing. No branch: it would wait for
			// the load.
			if readers[r.older].version == r.version {
				more = 1
			}
			k += more
		}
		walk = walk[:k]
	}
	s.near, s.walk = near, s.walk[:0]
	return sum
}

// warmReaders is how many readers of a version are looked at: most versions have
// no more when they are overwritten.
const warmReaders = 12

// maxPlanned bounds the operations of a transaction that are looked up ahead.
const maxPlanned = 16

// planned is where an operation leads; 0 is not known.
type planned struct{ key, version, op, fp uint32 }

// planOf are the operations of one transaction in the plan.
type planOf struct{ first, n, op uint32 }

// takePlan moves the plan on to t, and forgets it when t is not what was planned.
func (s *memory) takePlan(b *event.Batch, t *event.Txn) {
	s.planFrom, s.planTo = 0, 0
	if s.planned != b {
		return
	}
	for s.planAt < len(s.planOf) {
		p := s.planOf[s.planAt]
		s.planAt++
		if p.op == t.FirstOp {
			s.planFrom, s.planTo = p.first, p.first+p.n
			return
		}
	}
	s.planned = nil
}

// plannedKey is the key of the i-th operation, when the plan knows it.
func (s *kinds) plannedKey(i int) uint32 {
	if at := s.planFrom + uint32(i); at < s.planTo {
		return s.plan[at].key
	}
	return 0
}

// plannedVersion is the version of k with this value that the i-th operation is
// about, when the plan knows it and it is still there.
func (s *registers) plannedVersion(i, k uint32, h event.Hash) uint32 {
	if at := s.planFrom + i; at < s.planTo {
		if v := s.plan[at].version; v != 0 {
			if x := &s.versions[v]; x.key == k && x.hash == h {
				return v
			}
		}
	}
	return s.internVersion(k, h)
}

// WarmRetire looks up what [State.Retire] of these transactions will need.
func (s *memory) WarmRetire(ns []uint32) {
	sum := uint64(0)
	for _, n := range ns {
		t := &s.txns[n]
		sum += uint64(t.pins) + t.id.Lo
	}
	// A transaction's records lie together, the one made last at the end.
	for _, n := range ns {
		t := &s.txns[n]
		sum += uint64(s.readers[t.reads].txn) + uint64(s.readers[t.reads-min(t.reads, 3)].txn) + uint64(s.writes[t.writes].txn)
	}
	for _, n := range ns {
		t := &s.txns[n]
		for id := t.reads; id != 0; id = s.readers[id].nextOfTxn {
			sum += uint64(s.versions[s.readers[id].version].readers)
		}
		for id := t.writes; id != 0; id = s.writes[id].nextOfTxn {
			w := &s.writes[id]
			sum += uint64(s.versions[w.version].flags) + uint64(s.versions[w.pred].flags)
		}
	}
	// An overwritten version whose last reader goes may go as well.
	for _, n := range ns {
		for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
			v := s.readers[id].version
			if x := &s.versions[v]; x.oldest == id && x.readers == id && x.over != 0 {
				sum += uint64(s.writes[x.writes].txn) + uint64(s.writes[x.over].txn) + s.byVersion.home(versionHash(x.key, x.hash))
				s.walk = append(s.walk, v)
			}
		}
	}
	for i, v := range s.walk {
		x := &s.versions[v]
		w := s.writes[x.writes].txn
		s.walk[i] = w
		sum += uint64(s.txns[w].flags) + s.txns[w].id.Lo + uint64(s.txns[s.writes[x.over].txn].flags)
	}
	// Transactions that only read go at once. Writers go with the versions that they wrote.
	if len(s.byID.slots) > 0 {
		for _, n := range ns {
			sum += s.byID.home(s.txns[n].id.Lo)
		}
		for _, w := range s.walk {
			sum += s.byID.home(s.txns[w].id.Lo)
		}
	}
	s.walk = s.walk[:0]
	s.warmed = sum
}

func (f *filter) warm(h uint64) (sum uint64) {
	at := mix(max(h, 1))
	for i := range f.panes {
		sum += f.panes[i].slots[at&uint64(len(f.panes[i].slots)-1)]
	}
	return sum
}
