package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/testrun"
)

// essentialOf is what matters of a witness, as text.
func essentialOf(w *finding.Witness, levels ...string) string {
	ops, links := Essential(w, levels)
	var all []string
	for _, p := range ops {
		all = append(all, fmt.Sprintf("%s.%d", w.Txns[p.Txn].ID, p.Op))
	}
	text := strings.Join(all, " ")
	for _, e := range links {
		text += strings.TrimRight(fmt.Sprintf("; %s %s %s %s %s", w.Txns[e.From].ID, e.Label, w.Txns[e.To].ID, e.Key, e.Value), " ")
	}
	return text
}

// What does not matter is left out: keys, and reads. The rest is linked.
func TestEssential(t *testing.T) {
	const strong = "strong-read-atomic"
	for _, x := range []struct{ what, txns, level, want string }{
		{"a read behind a delete", `
txn A start=1 end=2: write y 1, write x 1
txn B start=3 end=4: read y 1, delete x
txn C start=5 end=6: read y 1, read x 1, write z 1`, strong, "A.1 B.1 C.1; A wr C x 1; C rw B x; A realtime B; B realtime C"},
		{"a cas that failed", `
txn A start=1 end=2: write x 1
txn B start=3 end=4: write z 1, cas x 1 2 failed`, strong, "A.0 B.1; B rw A x 1; A realtime B"},
		{"a cas that failed, of another write", `
txn A start=1 end=4: write x 1
txn B start=2 end=5: write x 2
txn C start=6 end=7: cas x 1 3 failed, read x 1`, strong, "A.0 B.0 C.0 C.1; A wr C x 1; A realtime C; B realtime C"},
		{"a sum", "txn A start=1 end=2: inc c 1\ntxn B start=3 end=4: count c 0", "strong-causal", "A.0 B.0; A realtime B"},
		{"an element of a set", `
txn A start=1 end=2: add s 1, add s 2
txn B start=3 end=4: remove s 1
txn C start=5 end=6: read s {1,2}`, strong, "A.0 A.1 B.0 C.0; A wr C s 1; C rw B s 1; A realtime B; B realtime C"},
		{"without real time", "txn A: write x 1, write y 1\ntxn B: read x 1, delete y\ntxn C: read y nil, read x nil, read y 1", "serializable",
			"A.1 B.1 C.0 C.2; A wr C y 1"},
		{"what of unknown outcome replaced it", `
txn A start=1 end=2: write x 1
txn B start=3 end=4 status=unknown: delete x
txn C start=5 end=6: write x 3
txn D start=7 end=8: read x 1`, strong, "A.0 B.0 C.0 D.0; A wr D x 1; D rw C x 3; A realtime B; A realtime C; C realtime D"},
		{"a list", `
txn A start=1 end=2: append l 1, write z 1
txn B start=3 end=4: append l 2
txn C start=5 end=6: read l [1], read z 1`, strong, "A.0 B.0 C.0; A wr C l 1; A realtime B; B realtime C"},
		{"a range", `
txn A start=1 end=2: insert x1 1, insert x2 2
txn B start=3 end=4: delete x1
txn C start=5 end=6: range x..y [x1=1,x2=2]`, strong, "A.0 B.0 C.0; A wr C x1 1; C rw B x1; A realtime B; B realtime C"},
		{"a session", "txn A session=s seq=1: insert x 1\ntxn B session=s seq=2: read x nil", "strong-session-read-atomic", "A.0 B.0; B rw A x 1; A process B"},
	} {
		w := &finding.Witness{Anomaly: finding.NoOrder, Level: x.level, Txns: recordsOf(t, x.txns)}
		if err := Verify(w); err != nil {
			t.Errorf("%s: %v", x.what, err)
			continue
		}
		if got := essentialOf(w, x.level); got != x.want {
			t.Errorf("%s:\n%s, want\n%s", x.what, got, x.want)
		}
	}
}

// What matters has no order by itself, and each dependency holds in each order that real time allows.
func TestEssentialIsTrue(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 1))
	found, anti := 0, 0
	for range testrun.Count(20_000) {
		w := &finding.Witness{Anomaly: finding.NoOrder, Level: "strong-serializable", Txns: recordsOf(t, timedTxns(r))}
		if Verify(w) != nil {
			continue
		}
		found++
		ops, links := Essential(w, []string{w.Level})
		less := *w
		less.Txns = slices.Clone(w.Txns)
		for i := range less.Txns {
			less.Txns[i].Ops = nil
		}
		for _, p := range ops {
			less.Txns[p.Txn].Ops = append(less.Txns[p.Txn].Ops, w.Txns[p.Txn].Ops[p.Op])
		}
		if err := Verify(&less); err != nil {
			t.Fatalf("%v\n%+v\nof %+v", err, ops, w.Txns)
		}
		for _, e := range links {
			anti += int(e.Label&finding.RW) / int(finding.RW)
			if order := orderAgainst(&less, links, &e); order != nil {
				t.Fatalf("%s %s %s %s %s is not so in %v of\n%+v", w.Txns[e.From].ID, e.Label, w.Txns[e.To].ID, e.Key, e.Value, order, less.Txns)
			}
		}
	}
	if found < testrun.Least(4000) || anti < testrun.Least(4000) {
		t.Errorf("%d witnesses with %d anti-dependencies: too few to show anything", found, anti)
	}
}

// timedTxns are a few small transactions in time. No value is written twice.
func timedTxns(r *rand.Rand) string {
	var b strings.Builder
	var values []int
	for i := range 3 + r.IntN(3) {
		start := i*2 + r.IntN(3)
		fmt.Fprintf(&b, "\ntxn T%d start=%d end=%d:", i, start, start+1+r.IntN(3))
		for j := range 1 + r.IntN(2) {
			if j > 0 {
				b.WriteByte(',')
			}
			key, value, seen := string("xy"[r.IntN(2)]), len(values)+1, "nil"
			if len(values) > 0 && r.IntN(4) > 0 {
				seen = fmt.Sprint(values[r.IntN(len(values))])
			}
			switch r.IntN(7) {
			case 0, 1:
				fmt.Fprintf(&b, " write %s %d", key, value)
				values = append(values, value)
			case 2:
				fmt.Fprintf(&b, " delete %s", key)
			case 3:
				fmt.Fprintf(&b, " cas %s %s 99 failed", key, seen)
			default:
				fmt.Fprintf(&b, " read %s %s", key, seen)
			}
		}
	}
	return b.String()
}

// orderAgainst is an order of the transactions of w, at the end of which e does not hold: real time allows it, writers stand before
// those who read from them, and the reader of an anti-dependency e has seen a state in which what e leads to was done already. It is
// nil where there is none.
func orderAgainst(w *finding.Witness, links []finding.Dependency, e *finding.Dependency) (found []int) {
	var try func(order []int)
	try = func(order []int) {
		if found != nil {
			return
		}
		if len(order) == len(w.Txns) {
			if holdsNot(w, order, e) {
				found = slices.Clone(order)
			}
			return
		}
		for i := range w.Txns {
			early := func(j int) bool {
				if slices.Contains(order, j) || i == j {
					return false
				}
				source := func(l finding.Dependency) bool { return l.Label == finding.WR && l.From == j && l.To == i }
				return w.Txns[j].End < w.Txns[i].Start || e.Label == finding.RW && slices.ContainsFunc(links, source)
			}
			if !slices.Contains(order, i) && !slices.ContainsFunc(indexes(len(w.Txns)), early) {
				try(append(order, i))
			}
		}
	}
	try(nil)
	return found
}

func holdsNot(w *finding.Witness, order []int, e *finding.Dependency) bool {
	from, to := slices.Index(order, e.From), slices.Index(order, e.To)
	switch e.Label {
	case finding.RW:
		return to < from && explains(w, order[:from], &w.Txns[e.From], e.Key)
	case finding.WR:
		return from > to && explains(w, order[:to], &w.Txns[e.To], e.Key)
	}
	return from > to
}

// explains says whether each read of the key by t, before it wrote there itself, is of the state that the order leaves.
func explains(w *finding.Witness, order []int, t *event.Record, key string) bool {
	state := ""
	for _, i := range order {
		for _, o := range w.Txns[i].Ops {
			if o.Key == key && o.Writes() && o.Kind != event.CAS {
				state = o.Value
			}
		}
	}
	for _, o := range t.Ops {
		if o.Key != key {
			continue
		}
		switch {
		case o.Kind == event.CAS:
			if strings.TrimPrefix(o.Expected, "null") == state {
				return false
			}
		case o.Kind != event.Read:
			state = o.Value
		case o.Value != state:
			return false
		}
	}
	return true
}
