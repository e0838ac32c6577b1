package infer

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/registers"
)

// maxTentative bounds the unknown transactions that are kept behind the window
// for a late observation, which can come at any time.
const (
	maxTentative   = 1 << 17
	tentativeBytes = 512 // about
)

// KeepUnobserved says how many unknown transactions that nobody observed are kept behind the window. [State.LimitMemory]
// says it too.
func (s *memory) KeepUnobserved(n int) { s.tentative = n }

// Expire lets go of aborted transactions that ended before now, and of the oldest
// unobserved unknown ones beyond maxTentative.
func (s *memory) Expire(now int64, out *ledger.Out) {
	s.Begin(out)
	for s.expiry.Before(now) {
		s.expireNext()
	}
}

// ExpireShare is Expire for a share of all transactions that would expire at some time, the oldest
// ones: one in so many.
func (s *memory) ExpireShare(share int, out *ledger.Out) {
	s.Begin(out)
	for n := len(s.expiry.Heap)/share + 1; n > 0 && len(s.expiry.Heap) > 0; n-- {
		s.expireNext()
	}
}

func (s *memory) expireNext() {
	d := s.expiry.Pop()
	t := &s.Txns[d.Txn]
	switch {
	case t.Gen != d.Gen: // its number has another owner
	case t.State == ledger.Tentative: // else it was observed
		s.keepTentative(d)
	case t.State == ledger.Aborted:
		s.expire(d.Txn)
	}
}

func (s *memory) expire(n uint32) {
	s.LeaveSession(n)
	s.leave(n)
	s.dropWrites(n)
	s.Txns[n].Flags |= ledger.Retired
	s.Release(n)
}

// keepTentative keeps an unknown transaction that has expired, in place of the
// oldest such one.
func (s *memory) keepTentative(d ledger.Due) {
	s.unsure = append(s.unsure, d)
	if len(s.unsure) < 2*s.tentative {
		return
	}
	for _, old := range s.unsure[:s.tentative] {
		if t := &s.Txns[old.Txn]; t.Gen == old.Gen && t.State == ledger.Tentative {
			s.expire(old.Txn)
		}
	}
	s.unsure = append(s.unsure[:0], s.unsure[s.tentative:]...)
}

// dropWrites lets go of what n wrote.
func (s *memory) dropWrites(n uint32) {
	for id := s.Txns[n].Writes; id != 0; {
		next, v := s.Writes[id].NextOfTxn, s.Writes[id].Version
		s.DropWrite(id)
		if s.Txns[n].State == ledger.Aborted {
			s.Aborts.Add(s.KeyOfValue(v))
		} else {
			s.Values.Add(s.KeyOfValue(v))
		}
		s.DropIfUnused(v)
		id = next
	}
	s.Txns[n].Writes = 0
}

// Retire lets go of n, which has left every order: its reads, its place in its session, and
// versions that no later transaction can need. The state of lemma 2 stays (docs/proofs.md): the
// current version of each key with its writer's ranks, unplaced appends, and the session's last
// member.
func (s *memory) Retire(n uint32, out *ledger.Out) {
	s.Begin(out)
	t := &s.Txns[n]
	if t.State != ledger.Counted {
		return
	}
	t.Flags |= ledger.Retired
	t.Pins++ // until the end of this function
	s.Signs.EndRetired = max(s.Signs.EndRetired, t.End)
	if s.Opt.Linear && t.Flags&ledger.HasTimes != 0 {
		s.BegunRetired = max(s.BegunRetired, t.Start)
	}
	mark := ledger.Seen | ledger.SeenSurely
	if t.Flags&ledger.Unknown != 0 {
		mark = ledger.Seen
	}
	for id := t.Reads; id != 0; {
		r := &s.Readers[id]
		next, v := r.NextOfTxn, r.Version
		x := &s.Versions[v]
		if x.Oldest == id && x.Readers != id { // as DropReader does; mostly another transaction has read the version since
			x.Oldest = r.Newer
			*r = ledger.Reader{}
			s.Free.Readers.Give(id)
		} else {
			s.DropReader(id)
		}
		x.Flags |= mark
		again := false
		if x.Possible == 0 && x.Flags&(ledger.InitialVersion|ledger.Nothing|ledger.Baseline) == 0 {
			if again = x.Flags&ledger.Ambiguous != 0 && s.Keys[x.Key].Kind != event.List && s.Twice.Has(s.KeyOfValue(v)); !again {
				s.KeepLate(v)
			}
		}
		if x.Readers == 0 && again { // several transactions that are gone wrote it: the filter knows it
			s.Drop(v)
		} else if x.Readers == 0 {
			s.Supersede(v)
		}
		if x.Flags&registers.NotKept == 0 {
			s.KeepVersion(v)
		}
		id = next
	}
	s.Txns[n].Reads = 0
	if s.Txns[n].Scans != 0 {
		s.DropScans(n)
	}
	if s.Opt.Ordered && s.Opt.Partly() {
		s.LeaveKeys(n, false)
	}
	s.leave(n)
	s.RetireSession(n)
	s.reopened = s.reopened[:0]
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		s.reopened = append(s.reopened, id)
	}
	for _, id := range s.reopened {
		if s.Writes[id].Txn == n { // not freed together with one before
			s.RetireWrite(id)
		}
	}
	s.Unpin(n)
}
