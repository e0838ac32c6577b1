package saturation

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// random makes a history of n transactions over few keys and sessions, which reads
// anything, the past and the future.
func random(r *rand.Rand, n, sessions, keys int) *History {
	h := &History{Txns: make([]HistoryTxn, 1, n+1)}
	writers := make([][]uint32, keys)
	var writes [][]uint32
	for t := 1; t <= n; t++ {
		var ws []uint32
		for k := range keys {
			if r.IntN(3) == 0 {
				ws = append(ws, uint32(k))
				writers[k] = append(writers[k], uint32(t))
			}
		}
		writes = append(writes, ws)
	}
	for t := 1; t <= n; t++ {
		x := HistoryTxn{Reads: uint32(len(h.Reads)), Writes: uint32(len(h.Writes)), Session: uint32(r.IntN(sessions + 1)), Open: r.IntN(8) == 0}
		h.Txns = append(h.Txns, x)
		h.Writes = append(h.Writes, writes[t-1]...)
		for i := range r.IntN(4) {
			k := r.IntN(keys)
			w := uint32(0)
			if ws := writers[k]; len(ws) > 0 && r.IntN(5) > 0 {
				w = ws[r.IntN(len(ws))]
			}
			if w == uint32(t) {
				continue
			}
			rd := Read{Key: uint32(k), Writer: w, First: uint32(2 * i), Last: uint32(2 * i)}
			if r.IntN(4) == 0 {
				rd.Last += uint32(r.IntN(4))
			}
			h.Reads = append(h.Reads, rd)
		}
	}
	return h
}

// possible says by trial of all orders of commits whether one satisfies the axiom
// of the rule (dbcop, figure 2).
func (h *History) possible(rule Rule, session bool) bool {
	n := len(h.Txns) - 1
	before := make([][]bool, n+1) // session order
	for i := range before {
		before[i] = make([]bool, n+1)
	}
	reach := make([][]bool, n+1) // (so u wr)+
	wr := make([][]bool, n+1)
	for i := range reach {
		reach[i], wr[i] = make([]bool, n+1), make([]bool, n+1)
	}
	for a := 1; a <= n; a++ {
		for b := a + 1; b <= n; b++ {
			x, y := h.Txns[a], h.Txns[b]
			before[a][b] = session && x.Session != 0 && x.Session == y.Session && !x.Open
			reach[a][b] = before[a][b]
		}
		for _, rd := range h.reads(uint32(a)) {
			wr[rd.Writer][a] = true
			reach[rd.Writer][a] = true
		}
	}
	for k := 1; k <= n; k++ {
		for a := 1; a <= n; a++ {
			for b := 1; b <= n; b++ {
				reach[a][b] = reach[a][b] || reach[a][k] && reach[k][b]
			}
		}
	}
	writes := func(t int, k uint32) bool {
		for _, w := range h.writes(uint32(t)) {
			if w == k {
				return true
			}
		}
		return false
	}
	at := make([]int, n+1)
	holds := func() bool {
		for a := 1; a <= n; a++ {
			for b := 1; b <= n; b++ {
				if (before[a][b] || wr[a][b]) && at[a] >= at[b] {
					return false
				}
			}
		}
		for t3 := 1; t3 <= n; t3++ {
			for _, rd := range h.reads(uint32(t3)) {
				for t2 := 1; t2 <= n; t2++ {
					if t2 == t3 || uint32(t2) == rd.Writer || !writes(t2, rd.Key) {
						continue
					}
					past := false
					switch rule {
					case AtomicView:
						for _, other := range h.reads(uint32(t3)) {
							past = past || other.Writer == uint32(t2) && (other.First < rd.Last || other.First == rd.Last && other.Key != rd.Key)
						}
					case Atomic:
						past = wr[t2][t3] || before[t2][t3]
					case Causal:
						past = reach[t2][t3]
					}
					if past && at[t2] > at[rd.Writer] {
						return false
					}
				}
			}
		}
		return true
	}
	var extend func(p int) bool
	extend = func(p int) bool {
		if p > n {
			return holds()
		}
		for t := 1; t <= n; t++ {
			if at[t] == 0 {
				at[t] = p
				if extend(p + 1) {
					return true
				}
				at[t] = 0
			}
		}
		return false
	}
	return extend(1)
}

func (h *History) String() string {
	s := ""
	for t := 1; t < len(h.Txns); t++ {
		s += fmt.Sprintf("T%d session %d open %v reads %v writes %v\n", t, h.Txns[t].Session, h.Txns[t].Open, h.reads(uint32(t)), h.writes(uint32(t)))
	}
	return s
}

// TestDecide compares with the axioms, tried over all orders.
func TestDecide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	held, fell := 0, 0
	for i := range 6000 {
		h := random(r, 2+r.IntN(4), 1+r.IntN(3), 1+r.IntN(3))
		got := h.Decide(Causal)
		direct := [...]Verdicts{AtomicView: h.Decide(AtomicView), Atomic: h.Decide(Atomic), Causal: got}
		for _, rule := range []Rule{AtomicView, Atomic, Causal} {
			for _, session := range []bool{false, true} {
				want := h.possible(rule, session)
				is := got.Plain[rule]
				if session {
					is = got.Session[rule]
				}
				alone := direct[rule].Plain[rule]
				if session {
					alone = direct[rule].Session[rule]
				}
				if alone != want {
					t.Fatalf("history %d, rule %d asked alone, session order %v: want %v\n%v", i, rule, session, want, h)
				}
				if is != want {
					t.Fatalf("history %d, rule %d, session order %v: %v, want %v\n%v", i, rule, session, is, want, h)
				}
				if want {
					held++
				} else {
					fell++
				}
			}
		}
	}
	if held < 3000 || fell < 3000 {
		t.Errorf("%d levels held and %d fell: too few of one to tell", held, fell)
	}
}

// TestDirect compares what direct reads decide with what causal pasts decide, on
// transactions that write so many keys that these are searched.
func TestDirect(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	held, fell := 0, 0
	for i := range 400 {
		h := random(r, 4+r.IntN(12), 1+r.IntN(4), 1+r.IntN(5*manyWrites))
		for j := range h.Reads { // fewer levels would hold otherwise
			if r.IntN(8) > 0 {
				h.Reads[j].Writer = min(h.Reads[j].Writer, 2)
			}
		}
		all, one := h.Decide(Causal), h.Decide(Atomic)
		for _, rule := range []Rule{AtomicView, Atomic} {
			if all.Plain[rule] != one.Plain[rule] || all.Session[rule] != one.Session[rule] {
				t.Fatalf("history %d, rule %d: %v and %v with pasts, %v and %v without\n%v", i, rule,
					all.Plain[rule], all.Session[rule], one.Plain[rule], one.Session[rule], h)
			}
			if one.Plain[rule] {
				held++
			} else {
				fell++
			}
		}
	}
	if held < 100 || fell < 100 {
		t.Errorf("%d levels held and %d fell: too few of one to tell", held, fell)
	}
}
