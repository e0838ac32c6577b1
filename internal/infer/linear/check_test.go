package linear

import (
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/registers"
)

// chain is a register with two versions, one above the other. Their writers ran from 10 to 11 and from 20 to 21.
func chain() (s *Linear, first, second uint32) {
	s = &Linear{Registers: &registers.Registers{}}
	s.Start(ledger.Options{Complete: true, Linear: true})
	k := s.InternKey(event.HashText([]byte("x")), []byte("x"))
	s.Keys[k].Kind = event.Register
	write := func(before uint32, value string, start int64) uint32 {
		v, n := s.InternVersion(k, event.HashText([]byte(value))), s.NewTxn()
		t := &s.Txns[n]
		t.State, t.Flags, t.Start, t.End = ledger.Counted, ledger.HasTimes, start, start+1
		id := s.AddWrite(n, v, 0)
		s.Writes[id].Pred, s.Versions[before].Over, s.Versions[v].Writer = before, id, n
		s.Touches = []causes.Touch{{Key: k, Flags: causes.Wrote, LastWrite: id}}
		s.LineUp(n)
		return v
	}
	first = write(s.Keys[k].Initial, "1", 10)
	second = write(first, "2", 20)
	return s, first, second
}

// TestCheckLines: each state that no step may leave is found.
func TestCheckLines(t *testing.T) {
	for name, spoil := range map[string]func(s *Linear, first, second uint32){
		"":                              func(*Linear, uint32, uint32) {},
		"a begin before its writer's":   func(s *Linear, first, _ uint32) { s.lines[first].begun.at = 9 },
		"another end than its writer's": func(s *Linear, _, second uint32) { s.lines[second].ended.at++ },
		"a begin above that is later":   func(s *Linear, first, _ uint32) { s.lines[first].begun.at = 30 },
		"a reader above that is later":  func(s *Linear, first, _ uint32) { s.lines[first].readBegun.at = 30 },
		"a reader's end that is not told above": func(s *Linear, _, second uint32) {
			s.lines[second].readEnded.at = 15
		},
		"an end that is not told above": func(s *Linear, first, _ uint32) { s.lines[first].later.at = never },
		"a position in work":            func(s *Linear, _, second uint32) { s.lines[second].again = true },
		"a walk that is not over":       func(s *Linear, _, second uint32) { s.below = append(s.below, second) },
	} {
		s, first, second := chain()
		if s.lines[first].later.at != 21 || s.lines[second].begun.at != 20 {
			t.Fatalf("the positions are %+v and %+v", s.lines[first], s.lines[second])
		}
		spoil(s, first, second)
		if err := s.CheckLines(); (err != nil) != (name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
