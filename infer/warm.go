package infer

import "github.com/isowatch/isowatch/event"

// At 64,000 live transactions the tables are larger than the caches, and a
// transaction touches some thirty places in them, most of them through another
// one. Looking the places of many transactions up first, in loops whose rounds
// do not depend on each other, lets the processor wait for several at a time.

// Plan looks up the keys and versions that these transactions, which [State.Add]
// takes next, will meet. Where it finds them Add need not look again. It returns
// transactions that edges will join them with, valid until the next call.
func (s *State) Plan(b *event.Batch, txns []int32) []uint32 {
	s.near = s.near[:0]
	s.planned = b
	s.plan = s.plan[:0]
	s.planOf = s.planOf[:0]
	s.planAt = 0
	if len(s.byKey.slots) == 0 || len(s.byVersion.slots) == 0 || len(s.byID.slots) == 0 {
		s.planned = nil
		return nil
	}
	sum := uint64(0)
	for _, i := range txns {
		t := &b.Txns[i]
		sum += s.byID.home(t.IDHash.Lo)
		n := t.NumOps
		if n > maxPlanned || t.Epoch.Len > 0 {
			n = 0 // a large one's own operations overlap well enough
		}
		s.planOf = append(s.planOf, planOf{first: uint32(len(s.plan)), n: n, op: t.FirstOp})
		for j := t.FirstOp; j < t.FirstOp+n; j++ {
			o := &b.Ops[j]
			sum += s.byKey.home(o.KeyHash.Lo)
			if len(s.plan) == cap(s.plan) {
				s.plan = append(s.plan, planned{})[:len(s.plan)]
			}
			s.plan = s.plan[:len(s.plan)+1]
			s.plan[len(s.plan)-1].op = j
			if o.Kind != event.Read {
				sum += s.values.warm(versionHash(0, o.ValueHash) ^ o.KeyHash.Lo)
			}
		}
	}
	for i := range s.plan {
		p := &s.plan[i]
		o := &b.Ops[p.op]
		p.key = s.byKey.candidate(o.KeyHash.Lo)
		sum += s.byVersion.home(versionHash(p.key, o.ValueHash)) + uint64(s.keys[p.key].stamp)
	}
	for i := range s.plan {
		p := &s.plan[i]
		o := &b.Ops[p.op]
		p.version = s.byVersion.candidate(versionHash(p.key, o.ValueHash))
		sum += uint64(s.versions[p.version].writer)
		if s.keys[p.key].hash != o.KeyHash {
			p.key, p.version = 0, 0
		}
	}
	for i := range s.plan {
		p := &s.plan[i]
		v := &s.versions[p.version]
		if v.key != p.key || v.hash != b.Ops[p.op].ValueHash {
			p.version = 0
			continue
		}
		if v.writer != 0 {
			s.near = append(s.near, v.writer)
		}
		sum += uint64(s.readers[v.readers].txn)
		if v.readers != 0 && i+1 < len(s.plan) && s.plan[i+1].key == p.key { // who reads and writes walks the readers
			s.walk = append(s.walk, v.readers)
		}
	}
	for range warmReaders {
		k := 0
		for _, at := range s.walk {
			r := &s.readers[at]
			s.near = append(s.near, r.txn)
			s.walk[k] = r.next
			if r.next != 0 {
				k++
			}
		}
		s.walk = s.walk[:k]
	}
	s.walk = s.walk[:0]
	s.warmed = sum
	return s.near
}

// warmReaders is how many readers of a version are looked at: most versions have
// no more when they are overwritten.
const warmReaders = 12

// maxPlanned bounds the operations of a transaction that are looked up ahead.
const maxPlanned = 16

// planned is where an operation leads; 0 is not known.
type planned struct{ key, version, op uint32 }

// planOf are the operations of one transaction in the plan.
type planOf struct{ first, n, op uint32 }

// takePlan moves the plan on to t, and forgets it when t is not what was planned.
func (s *State) takePlan(b *event.Batch, t *event.Txn) {
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
func (s *State) plannedKey(i int) uint32 {
	if at := s.planFrom + uint32(i); at < s.planTo {
		return s.plan[at].key
	}
	return 0
}

// plannedVersion is the version of k with this value that the i-th operation is
// about, when the plan knows it and it is still there.
func (s *State) plannedVersion(i, k uint32, h event.Hash) uint32 {
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
func (s *State) WarmRetire(ns []uint32) {
	sum := uint64(0)
	for _, n := range ns {
		t := &s.txns[n]
		sum += uint64(t.pins) + t.id.Lo
	}
	for _, n := range ns {
		t := &s.txns[n]
		// Records made together lie together: these walks do not wait.
		for id := t.reads; id != 0; id = s.readers[id].nextOfTxn {
			r := &s.readers[id]
			sum += uint64(s.versions[r.version].readers) + uint64(s.readers[r.prev].txn) + uint64(s.readers[r.next].txn)
			s.walk = append(s.walk, r.version)
		}
		for id := t.writes; id != 0; id = s.writes[id].nextOfTxn {
			w := &s.writes[id]
			sum += uint64(s.versions[w.version].flags) + uint64(s.versions[w.pred].flags)
			s.walk = append(s.walk, w.version, w.pred)
		}
		if len(s.byID.slots) > 0 {
			sum += s.byID.home(t.id.Lo)
		}
	}
	// Those of the versions that were overwritten may go.
	k := 0
	for _, v := range s.walk {
		x := &s.versions[v]
		if x.over != 0 {
			sum += uint64(s.writes[x.writes].txn) + uint64(s.writes[x.over].txn) + s.byVersion.home(versionHash(x.key, x.hash))
			s.walk[k] = v
			k++
		}
	}
	for _, v := range s.walk[:k] {
		x := &s.versions[v]
		sum += uint64(s.txns[s.writes[x.writes].txn].flags) + uint64(s.txns[s.writes[x.over].txn].flags)
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
