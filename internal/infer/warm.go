package infer

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// At 64,000 live transactions the tables are larger than the caches. A transaction touches some thirty
// places in these tables, and finds most of them by way of another place. So the places of many
// transactions are looked up first, in loops whose rounds do not depend on each other. The processor
// then waits for several at a time.

// Plan looks up the keys and versions that these transactions, which [State.Add] takes next, will meet.
// Where it finds them, Add does not look again. It returns transactions that edges will join them with,
// valid until the next call.
func (s *memory) Plan(b *event.Batch, txns []int32) []uint32 {
	s.near, s.walk = s.near[:0], s.walk[:0]
	s.Planned, s.planOf, s.planAt = s.Planned[:0], s.planOf[:0], 0
	s.planned, s.PlanFreed = b, s.Freed
	if len(s.ByKey.Slots) == 0 || len(s.ByVersion.Slots) == 0 || len(s.ByID.Slots) == 0 {
		s.planned = nil
		return nil
	}
	// Each loop is a function of its own, so its variables stay in registers.
	sum := s.planOps(b, txns)
	sum += planKeyHomes(s.Planned, b.Ops, s.ByKey.Slots)
	for i := range s.Planned {
		if o := &b.Ops[s.Planned[i].Op]; o.Kind != event.Read {
			sum += s.Values.Warm(ledger.VersionHash(0, o.ValueHash) ^ o.KeyHash.Lo)
		}
	}
	sum += planKeys(s.Planned, &s.ByKey, s.Keys)
	sum += planVersionHomes(s.Planned, b.Ops, s.ByVersion.Slots)
	sum += planVersions(s.Planned, &s.ByVersion, s.Versions)
	confirmKeys(s.Planned, b.Ops, s.Keys)
	sum += s.planReaders(b.Ops)
	s.warmed = sum
	return s.near
}

// planOps lists the operations of these transactions.
func (s *memory) planOps(b *event.Batch, txns []int32) (sum uint64) {
	plan, of := s.Planned, s.planOf
	for _, i := range txns {
		t := &b.Txns[i]
		sum += s.ByID.Home(t.IDHash.Lo)
		n := t.NumOps
		if n > maxPlanned || t.Epoch.Len > 0 {
			n = 0 // a large one's own operations overlap well enough
		}
		of = append(of, planOf{first: uint32(len(plan)), n: n, op: t.FirstOp})
		for op := t.FirstOp; op < t.FirstOp+n; op++ {
			plan = append(plan, causes.Planned{Op: op})
		}
	}
	s.Planned, s.planOf = plan, of
	return sum
}

// planKeyHomes looks up where looking for the keys begins.
func planKeyHomes(plan []causes.Planned, ops []event.Op, slots []uint64) (sum uint64) {
	for i := range plan {
		p := &plan[i]
		p.Fp = ledger.Fingerprint(ops[p.Op].KeyHash.Lo)
		sum += slots[int(p.Fp)&(len(slots)-1)]
	}
	return sum
}

// planKeys finds what may be the keys.
func planKeys(plan []causes.Planned, x *ledger.Index, keys []ledger.Key) (sum uint64) {
	slots := x.Slots
	for i := range plan {
		p := &plan[i]
		slot := slots[int(p.Fp)&(len(slots)-1)]
		if uint32(slot>>32) != p.Fp && slot != 0 {
			slot = x.Next(p.Fp)
		}
		p.Key = uint32(slot)
		sum += uint64(keys[uint32(slot)].Stamp)
	}
	return sum
}

// planVersionHomes looks up where looking for the versions begins.
func planVersionHomes(plan []causes.Planned, ops []event.Op, slots []uint64) (sum uint64) {
	for i := range plan {
		p := &plan[i]
		p.Fp = ledger.Fingerprint(ledger.VersionHash(p.Key, ops[p.Op].ValueHash))
		sum += slots[int(p.Fp)&(len(slots)-1)]
	}
	return sum
}

// planVersions finds what may be the versions.
func planVersions(plan []causes.Planned, x *ledger.Index, versions []ledger.Version) (sum uint64) {
	slots := x.Slots
	for i := range plan {
		p := &plan[i]
		slot := slots[int(p.Fp)&(len(slots)-1)]
		if uint32(slot>>32) != p.Fp && slot != 0 {
			slot = x.Next(p.Fp)
		}
		p.Version = uint32(slot)
		sum += uint64(versions[uint32(slot)].Writer)
	}
	return sum
}

// confirmKeys forgets the places that hold other keys.
func confirmKeys(plan []causes.Planned, ops []event.Op, keys []ledger.Key) {
	for i := range plan {
		p := &plan[i]
		if x, h := &keys[p.Key], &ops[p.Op].KeyHash; x.Hash.Lo != h.Lo || x.Hash.Hi != h.Hi {
			p.Key = 0
		}
	}
}

// planReaders forgets the versions that are others, and looks up the readers of
// those that will be overwritten, and the writers.
func (s *memory) planReaders(ops []event.Op) (sum uint64) {
	versions, readers, plan, near := s.Versions, s.Readers, s.Planned, s.near
	for i := range plan {
		p := &plan[i]
		v := &versions[p.Version]
		if h := &ops[p.Op].ValueHash; v.Key != p.Key || p.Key == 0 || v.Hash.Lo != h.Lo || v.Hash.Hi != h.Hi {
			p.Version = 0
			continue
		}
		if v.Writer != 0 {
			near = append(near, v.Writer)
		}
		sum += uint64(readers[v.Readers].Txn)
		if v.Readers != 0 && i+1 < len(plan) && plan[i+1].Key == p.Key { // who reads and writes walks the readers
			s.walk = append(s.walk, v.Readers)
		}
	}
	walk := s.walk
	for range warmReaders {
		k := 0
		for _, at := range walk {
			r, more := &readers[at], 0
			near = append(near, r.Txn)
			walk[k] = r.Older
			// Behind the oldest one is another object, or nothing. No branch: it would wait for
			// the load.
			if readers[r.Older].Version == r.Version {
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

// planOf are the operations of one transaction in the plan.
type planOf struct{ first, n, op uint32 }

// takePlan moves the plan on to t, and forgets it when t is not what was planned.
func (s *memory) takePlan(b *event.Batch, t *event.Txn) {
	s.PlanFrom, s.PlanTo = 0, 0
	if s.planned != b {
		return
	}
	for s.planAt < len(s.planOf) {
		p := s.planOf[s.planAt]
		s.planAt++
		if p.op == t.FirstOp {
			s.PlanFrom, s.PlanTo = p.first, p.first+p.n
			return
		}
	}
	s.planned = nil
}

// plannedKey is the key of the i-th operation, when the plan knows it.
func (s *kinds) plannedKey(i int) uint32 {
	if at := s.PlanFrom + uint32(i); at < s.PlanTo {
		return s.Planned[at].Key
	}
	return 0
}

// WarmRetire looks up what [State.Retire] of these transactions will need.
func (s *memory) WarmRetire(ns []uint32) {
	sum := uint64(0)
	for _, n := range ns {
		t := &s.Txns[n]
		sum += uint64(t.Pins) + t.Id.Lo
	}
	// A transaction's records lie together, the one made last at the end.
	for _, n := range ns {
		t := &s.Txns[n]
		sum += uint64(s.Readers[t.Reads].Txn) + uint64(s.Readers[t.Reads-min(t.Reads, 3)].Txn) + uint64(s.Writes[t.Writes].Txn)
	}
	for _, n := range ns {
		t := &s.Txns[n]
		for id := t.Reads; id != 0; id = s.Readers[id].NextOfTxn {
			sum += uint64(s.Versions[s.Readers[id].Version].Readers)
		}
		for id := t.Writes; id != 0; id = s.Writes[id].NextOfTxn {
			w := &s.Writes[id]
			sum += uint64(s.Versions[w.Version].Flags) + uint64(s.Versions[w.Pred].Flags)
		}
	}
	// An overwritten version whose last reader goes may go as well.
	for _, n := range ns {
		for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
			v := s.Readers[id].Version
			if x := &s.Versions[v]; x.Oldest == id && x.Readers == id && x.Over != 0 {
				sum += uint64(s.Writes[x.Writes].Txn) + uint64(s.Writes[x.Over].Txn) + s.ByVersion.Home(ledger.VersionHash(x.Key, x.Hash))
				s.walk = append(s.walk, v)
			}
		}
	}
	for i, v := range s.walk {
		x := &s.Versions[v]
		w := s.Writes[x.Writes].Txn
		s.walk[i] = w
		sum += uint64(s.Txns[w].Flags) + s.Txns[w].Id.Lo + uint64(s.Txns[s.Writes[x.Over].Txn].Flags)
	}
	// Transactions that only read go at once. Writers go with the versions that they wrote.
	if len(s.ByID.Slots) > 0 {
		for _, n := range ns {
			sum += s.ByID.Home(s.Txns[n].Id.Lo)
		}
		for _, w := range s.walk {
			sum += s.ByID.Home(s.Txns[w].Id.Lo)
		}
	}
	s.walk = s.walk[:0]
	s.warmed = sum
}
