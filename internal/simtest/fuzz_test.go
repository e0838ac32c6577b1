package simtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// FuzzMachine reads bytes as transactions of 4 sessions over 3 keys and restarts,
// and gives them to a machine with a tiny window: no panic, a valid state after
// every step, and no verdict that the oracle contradicts; and with a cap of one to
// three keys the same effects to the byte.
func FuzzMachine(f *testing.F) {
	for i := range uint64(8) {
		rng := rand.New(rand.NewPCG(i, 27))
		seed := make([]byte, 120)
		for k := range seed {
			seed[k] = byte(rng.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		s := &fuzzScript{bytes: script[:min(len(script), 160)]}
		cfg := exact()
		cfg.Unbounded = false
		cfg.Window = window.For(time.Duration(s.next(4)) * 8)
		cfg.Lateness = window.For(time.Duration(s.next(3)) * 4)
		if s.next(3) == 0 {
			cfg.LiveCap = 2 + s.next(4)
		}
		m := window.New(cfg)
		capped := cfg
		capped.KeyCap = 1 + s.next(3)
		twin := newSpilling(capped, nil)
		var eff window.Effects
		var d event.Decoder
		var h oracle.History
		for len(s.bytes) > 0 && len(h) < 14 {
			if s.next(8) == 0 {
				m, twin.m = readBack(t, cfg, m), readBack(t, capped, twin.m)
			}
			h = append(h, s.txn(len(h)))
			b := &event.Batch{Partitions: []string{"sim"}}
			d.Decode(b, event.Position{Offset: int64(len(h))}, workload.AppendJSON(nil, &h[len(h)-1]))
			m.Step(b, []int32{0}, 0, &eff)
			if err := m.Check(); err != nil {
				t.Fatalf("%v\n%s", err, h.Text())
			}
			twin.b, twin.log = b, nil
			puts, err := twin.step(&twin.eff, nil, 0)
			if err != nil {
				t.Fatalf("with %d keys: %v\n%s", capped.KeyCap, err, h.Text())
			}
			twin.write(puts)
		}
		m.Close(&eff)
		twin.m.Close(&twin.eff)
		if w, g := effectsText(t, &eff), effectsText(t, &twin.eff); w != g {
			t.Fatalf("with %d keys: %s\n%s", capped.KeyCap, firstDifference(w, g), h.Text())
		}
		if why := disagreement(m, oracle.Check(h)); why != "" {
			t.Fatalf("window %v, lateness %v, cap %d: %s\n%s%s%+v", cfg.Window.D, cfg.Lateness.D, cfg.LiveCap,
				why, h.Text(), lines(eff.Findings), m.Totals())
		}
	})
}

// fuzzScript is bytes that are used up as choices; 0 when they have ended.
type fuzzScript struct {
	bytes []byte
	now   int64
	value int64 // the last one written
	seq   [4]int64
	end   [4]int64 // of the session's last transaction
}

func (s *fuzzScript) next(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

// txn is the next transaction: up to three operations on the keys x0, x1 and l0.
// A value is mostly written once; reads show any that was or soon will be.
func (s *fuzzScript) txn(n int) workload.Txn {
	s.now += int64(s.next(8))
	x := workload.Txn{ID: fmt.Sprintf("T%d", n+1), Status: event.Committed, End: 1000 + s.now - int64(s.next(6))}
	x.Start = x.End - int64(s.next(10))
	switch s.next(8) {
	case 0:
		x.Status = event.Aborted
	case 1, 2:
		x.Status = event.Unknown
	}
	if k := s.next(6); k < 4 {
		s.seq[k]++
		x.Session, x.Seq = fmt.Sprintf("s%d", k), s.seq[k]
		x.Start = max(x.Start, s.end[k])
		x.End = max(x.Start, x.End)
		s.end[k] = x.End
	}
	for range 1 + s.next(3) {
		s.op(&x)
	}
	return x
}

func (s *fuzzScript) op(x *workload.Txn) {
	key, seen := fmt.Sprintf("x%d", s.next(2)), int64(1+s.next(int(s.value)+4))
	switch s.next(6) {
	case 0:
		x.Ops = append(x.Ops, workload.ReadAbsent(key), s.write(key))
	case 1, 2:
		x.Ops = append(x.Ops, workload.Read(key, seen), s.write(key))
	case 3:
		x.Ops = append(x.Ops, workload.Read(key, seen))
	case 4:
		x.Ops = append(x.Ops, workload.Append("l0", s.newValue()))
	case 5:
		var list []int64
		for range s.next(4) {
			list = append(list, int64(1+s.next(int(s.value)+4)))
		}
		x.Ops = append(x.Ops, workload.ReadList("l0", list...))
	}
}

func (s *fuzzScript) write(key string) workload.Op { return workload.Write(key, s.newValue()) }

// newValue is the next one, or now and then one that was there.
func (s *fuzzScript) newValue() int64 {
	if s.next(8) == 7 && s.value > 0 {
		return int64(1 + s.next(int(s.value)))
	}
	s.value++
	return s.value
}
