package counters

import (
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/registers"
)

// chain is a counter with two increments, by 2 and by 3, whose versions are told.
func chain() (s *Totals, k, first, second uint32) {
	s = &Totals{Registers: &registers.Registers{}}
	s.Start(ledger.Options{Complete: true})
	k = s.InternKey(event.HashText([]byte("c")), []byte("c"))
	s.Keys[k].Kind = event.Counter
	s.TellCounter(k)
	increment := func(before uint32, version string, inc int64) uint32 {
		v, n := s.InternVersion(k, ledger.VersionIdentity([]byte(version))), s.NewTxn()
		s.Txns[n].State = ledger.Counted
		id := s.AddWrite(n, v, 0)
		s.Writes[id].Pred, s.Versions[before].Over, s.Versions[v].Writer = before, id, n
		a := s.holdingOf(v)
		a.inc, a.linked = inc, true
		s.follow(v)
		return v
	}
	first = increment(s.Keys[k].Initial, "1", 2)
	second = increment(first, "2", 3)
	return s, k, first, second
}

// TestCheckHoldings: each state that no step may leave is found.
func TestCheckHoldings(t *testing.T) {
	for name, spoil := range map[string]func(s *Totals, k, first, second uint32){
		"":                    func(*Totals, uint32, uint32, uint32) {},
		"another sum":         func(s *Totals, _, _, second uint32) { s.holdings[second].sum++ },
		"another amount":      func(s *Totals, _, first, _ uint32) { s.holdings[first].inc++ },
		"a sum not concluded": func(s *Totals, _, _, second uint32) { s.holdings[second].known = false },
		"a transaction that is not over": func(s *Totals, k, _, _ uint32) {
			s.BeginTouching()
			s.countOf(k)
		},
		"a loose counter that is not counted": func(s *Totals, k, _, _ uint32) {
			s.Loosen(k)
			s.Counters.Loose--
		},
		"a read of a loose counter that is not counted": func(s *Totals, k, _, _ uint32) {
			s.Loosen(k)
			s.holdingOf(s.Keys[k].Initial).inc++
		},
	} {
		s, k, first, second := chain()
		if a := s.heldAt(second); !a.known || a.sum != 5 {
			t.Fatalf("the second version holds %+v", a)
		}
		spoil(s, k, first, second)
		if err := s.CheckHoldings(); (err != nil) != (name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestLooseCountersHoldAnything: nothing is concluded from the sums of a loose counter.
func TestLooseCountersHoldAnything(t *testing.T) {
	s, k, _, second := chain()
	s.holds(second, 6)
	if s.Counters.Loose != 1 {
		t.Errorf("another sum leaves counter %d with %d loose ones", k, s.Counters.Loose)
	}
	s.holdings[second].sum = 6
	if err := s.CheckHoldings(); err != nil {
		t.Error(err)
	}
}
