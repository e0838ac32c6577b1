package saturation

import (
	"math/rand/v2"
	"testing"
)

// strong says by the axioms' closure whether h satisfies the strong level of the rule.
func (h *History) strong(rule Rule, spans []Span, drift int64) bool {
	n := len(h.Txns)
	matrix := func() [][]bool {
		m := make([][]bool, n)
		for i := range m {
			m[i] = make([]bool, n)
		}
		return m
	}
	closed := func(m [][]bool) {
		for k := range n {
			for i := range n {
				for j := range n {
					m[i][j] = m[i][j] || m[i][k] && m[k][j]
				}
			}
		}
	}
	past, order := matrix(), matrix()
	for a := 1; a < n; a++ {
		for b := 1; b < n; b++ {
			x, y := h.Txns[a], h.Txns[b]
			past[a][b] = past[a][b] || a < b && x.Session != 0 && x.Session == y.Session || spans[a].End+drift < spans[b].Start
		}
		for _, rd := range h.reads(uint32(a)) {
			if rd.Writer != 0 {
				past[rd.Writer][a] = true
			}
		}
	}
	for a := range n {
		copy(order[a], past[a])
	}
	if rule == Causal {
		closed(past)
	}
	for t := 1; t < n; t++ {
		reads := h.reads(uint32(t))
		for i := range reads {
			for w := 1; w < n; w++ {
				wrote := false
				for _, k := range h.writes(uint32(w)) {
					wrote = wrote || k == reads[i].Key
				}
				before := past[w][t]
				if rule == AtomicView {
					before = false
					for j := range reads {
						before = before || reads[j].Writer == uint32(w) && (reads[j].First < reads[i].Last || reads[j].First == reads[i].Last && reads[j].Key != reads[i].Key)
					}
				}
				if rule == 0 || !wrote || !before || w == t || uint32(w) == reads[i].Writer {
					continue
				}
				if reads[i].Writer == 0 {
					return false
				}
				order[w][reads[i].Writer] = true
			}
		}
	}
	closed(order)
	for i := range n {
		if order[i][i] {
			return false
		}
	}
	return true
}

// TestStrong compares [Timed.Strong] with the closure.
func TestStrong(t *testing.T) {
	count := map[Rule][2]int{}
	for seed := range uint64(30_000) {
		r := rand.New(rand.NewPCG(seed, 5))
		h := random(r, 2+r.IntN(7), 3, 1+r.IntN(3))
		spans, drift := make([]Span, len(h.Txns)), int64(r.IntN(2)*r.IntN(4))
		for i := range spans {
			h.Txns[i].Open = false
			spans[i].Start = int64(2*i) - int64(r.IntN(5))
			spans[i].End = spans[i].Start + int64(r.IntN(6))
		}
		for i := range h.Reads { // the past, mostly
			by := uint32(0)
			for k := range h.Txns {
				if int(h.Txns[k].Reads) <= i {
					by = uint32(k)
				}
			}
			if w := &h.Reads[i].Writer; *w > by && r.IntN(10) > 0 {
				*w = 0
				for k := by - 1; k > 0 && k < by; k-- {
					for _, key := range h.writes(k) {
						if key == h.Reads[i].Key && *w == 0 && r.IntN(4) > 0 {
							*w = k
						}
					}
				}
			}
		}
		for _, rule := range []Rule{0, AtomicView, Atomic, Causal} {
			timed, few := h.InTime(spans, drift)
			got, known := timed.Strong(rule)
			want := h.strong(rule, spans, drift)
			if !few || !known || got != want {
				t.Fatalf("seed %d, rule %d: %v (known %v), by the closure %v: %+v %v drift %d", seed, rule, got, known, want, h, spans, drift)
			}
			c := count[rule]
			if want {
				c[0]++
			} else {
				c[1]++
			}
			count[rule] = c
		}
	}
	for rule, c := range count {
		if c[0] < 1000 || c[1] < 1000 {
			t.Errorf("rule %d: %d hold, %d do not: too few of one", rule, c[0], c[1])
		}
	}
	t.Log(count)
}

// Where very many run beside each other nothing is said.
func TestStrongWide(t *testing.T) {
	const n = 3000
	h := &History{Txns: make([]HistoryTxn, n+1)}
	spans := make([]Span, n+1)
	for i := range spans {
		spans[i] = Span{0, 1}
		if i > n/2 {
			spans[i] = Span{2, 3}
		}
	}
	if _, ok := h.InTime(spans, 0); ok {
		t.Error("decided")
	}
	timed, ok := h.InTime(spans, 1)
	if !ok {
		t.Fatal("with clocks that may be apart nothing is ordered")
	}
	if holds, known := timed.Strong(Causal); !known || !holds {
		t.Error("with clocks that may be apart nothing is wrong")
	}
}
