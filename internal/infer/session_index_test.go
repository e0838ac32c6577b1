package infer

import (
	"math/rand/v2"
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
		var s ledger
		var out Out
		s.start(Options{})
		s.out = &out
		s.sessions = append(s.sessions, session{})
		var live []uint32
		next, spread := int64(rng.IntN(1000)-500), int64(1)<<rng.IntN(9)
		asked := 0
		for range 600 {
			if len(live) > 0 && rng.IntN(3+int(seed%4)) == 0 {
				i := rng.IntN(len(live))
				if rng.IntN(2) == 0 {
					i = 0
				}
				s.leaveSession(live[i])
				live = append(live[:i], live[i+1:]...)
				continue
			}
			next++
			n := s.newTxn()
			x := &s.txns[n]
			x.session, x.state, x.flags = 1, counted, hasSeq
			x.seq = next + rng.Int64N(spread)*rng.Int64N(2)
			switch rng.IntN(400) {
			case 0:
				x.flags = hasTimes
			case 1:
				x.seq += 1 << 40
			}
			if seed%2 == 1 {
				x.flags = hasTimes
				x.start = next - rng.Int64N(spread)*rng.Int64N(2)
				x.end = x.start
			}
			x.id = event.Hash{Lo: uint64(n)}
			if prev, after, ok := s.around(n); ok {
				asked++
				s.checkNeighbours(n, prev, after)
			}
			before := s.Counters.Overlapping
			s.linkSession(n)
			if s.Counters.Overlapping != before {
				s.sessions[1].flags = 0 // this test goes on with it
				continue
			}
			live = append(live, n)
		}
		if asked == 0 {
			t.Fatalf("seed %d: no seats", seed)
		}
		if len(s.sessionIndexes) > 1 {
			rows = max(rows, len(s.sessionIndexes[1].rows))
		}
	}
	if rows < 2 {
		t.Errorf("at most %d rows", rows)
	}
}
