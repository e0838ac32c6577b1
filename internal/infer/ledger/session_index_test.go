package ledger

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// TestSessionIndex adds the members of one session in every kind of disorder, retires some
// in between, and compares the neighbours that the slots or rows give with a walk. Some
// have no seq, or one that was there, or one far away. In every other session nobody has seq.
func TestSessionIndex(t *testing.T) {
	rows := 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var s Ledger
		var out Out
		s.Start(Options{})
		s.Out = &out
		s.Sessions = append(s.Sessions, Session{})
		var live []uint32
		next, spread := int64(rng.IntN(1000)-500), int64(1)<<rng.IntN(9)
		asked := 0
		for range 600 {
			if len(live) > 0 && rng.IntN(3+int(seed%4)) == 0 {
				i := rng.IntN(len(live))
				if rng.IntN(2) == 0 {
					i = 0
				}
				s.LeaveSession(live[i])
				live = append(live[:i], live[i+1:]...)
				continue
			}
			next++
			n := s.NewTxn()
			x := &s.Txns[n]
			x.Session, x.State, x.Flags = 1, Counted, HasSeq
			x.Seq = next + rng.Int64N(spread)*rng.Int64N(2)
			switch rng.IntN(400) {
			case 0:
				x.Flags = HasTimes
			case 1:
				x.Seq += 1 << 40
			}
			if seed%2 == 1 {
				x.Flags = HasTimes
				x.Start = next - rng.Int64N(spread)*rng.Int64N(2)
				x.End = x.Start
			}
			x.Id = event.Hash{Lo: uint64(n)}
			if prev, after, ok := s.around(n); ok {
				asked++
				s.checkNeighbours(n, prev, after)
			}
			before := s.Counters.Overlapping
			s.LinkSession(n)
			if s.Counters.Overlapping != before {
				s.Sessions[1].Flags = 0 // this test goes on with it
				continue
			}
			live = append(live, n)
		}
		if asked == 0 {
			t.Fatalf("seed %d: no index", seed)
		}
		if len(s.SessionIndexes) > 1 {
			rows = max(rows, len(s.SessionIndexes[1].rows))
		}
	}
	if rows < 2 {
		t.Errorf("at most %d rows", rows)
	}
}

// TestEmptySessionHasNoIndex: the index of a session goes when its last member leaves, and not before. Its slots
// would stay in memory. Members have seq, or times alone.
func TestEmptySessionHasNoIndex(t *testing.T) {
	for _, flags := range []TxnFlags{HasSeq, HasTimes} {
		var s Ledger
		var out Out
		s.Start(Options{})
		s.Out = &out
		s.Sessions = append(s.Sessions, Session{})
		var members []uint32
		for i := range int64(2 * longWalk) { // each comes behind those that precede it in the session
			n := s.NewTxn()
			x := &s.Txns[n]
			x.Session, x.State, x.Flags, x.Seq = 1, Counted, flags, 100-i
			x.Start, x.End = 100-i, 100-i
			s.LinkSession(n)
			members = append(members, n)
		}
		for i, n := range members {
			if s.SessionIndexes[1].mode == unindexed {
				t.Errorf("flags %d: no index of %d members", flags, len(members)-i)
			}
			s.LeaveSession(n)
		}
		if !reflect.DeepEqual(s.SessionIndexes[1], SessionIndex{}) {
			t.Errorf("flags %d: the session is empty and has the index %+v", flags, s.SessionIndexes[1])
		}
	}
}
