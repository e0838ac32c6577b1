package linear

import (
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// CheckLines audits the positions, between two steps. A version whose writer has its position knows its writer's
// times. It begins no earlier than what is above it, and ends no earlier than what is above it knows.
func (s *Linear) CheckLines() error {
	if len(s.below) > 0 {
		return errors.New("versions of a walk are still there")
	}
	for v := range s.lines {
		l := &s.lines[v]
		x := &s.Versions[v]
		if x.Key == 0 || l.of != s.KeyOfValue(uint32(v)) {
			continue
		}
		if l.again {
			return fmt.Errorf("the position of version %d is being made again", v)
		}
		w := x.Writer
		if w == 0 || l.ended.txn != w || s.Txns[w].State != ledger.Counted {
			continue
		}
		t := &s.Txns[w]
		if l.begun.at < t.Start || l.ended.at != t.End && l.ended.at != never {
			return fmt.Errorf("the position of version %d is from %d to %d: its writer %d ran from %d to %d", v, l.begun.at, l.ended.at, w, t.Start, t.End)
		}
		p := s.above(uint32(v))
		if p == 0 || int(p) >= len(s.lines) || s.lines[p].of != s.KeyOfValue(p) {
			continue
		}
		y := &s.lines[p]
		if b := latest(y.begun, y.readBegun); b.at > l.begun.at {
			return fmt.Errorf("version %d begins at %d: %d above it begins at %d", v, l.begun.at, p, b.at)
		}
		if e := earliest(l.later, earliest(l.ended, l.readEnded)); e.at < y.later.at {
			return fmt.Errorf("version %d ends at %d: %d above it knows of %d", v, e.at, p, y.later.at)
		}
	}
	return nil
}
