package window

import (
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// counted are the numbers of the anomaly that [violation] has: forbidden, allowed, uncertain.
func counted(m *Machine) (n [3]int64) {
	m.EachFound(func(_ string, violating, expected, uncertain int64) { n = [3]int64{violating, expected, uncertain} })
	return n
}

// What sinks do not get by default is counted apart. It counts as certain once it is, and once only: also if it fell in between, if
// another finding stood for it, and behind a restart.
func TestUncertainIsCountedApart(t *testing.T) {
	m, _ := toldMachine()
	f := violation("a", "causal")
	f.Certain = false
	tell := func(first bool, want [3]int64) {
		t.Helper()
		told := f
		m.reports.leave(&told, []uint64{1}, first)
		if got := counted(m); got != want {
			t.Fatalf("%s revision %d, certain %v: counted %v, want %v", f.State, f.Revision, f.Certain, got, want)
		}
	}
	tell(true, [3]int64{0, 0, 1})
	f.Revision++
	tell(false, [3]int64{0, 0, 1})
	f.Certain, f.State = true, finding.Withdrawn
	tell(false, [3]int64{0, 0, 1})
	f.State = finding.Provisional
	tell(false, [3]int64{1, 0, 1})
	f.State = finding.Final
	tell(false, [3]int64{1, 0, 1})
	if len(m.reports.unsure) > 0 {
		t.Errorf("it keeps %v", m.reports.unsure)
	}

	f = violation("b", "causal")
	f.Certain, f.Expected = false, true
	tell(true, [3]int64{1, 0, 2})
	f.Certain, f.State = true, finding.Final
	tell(false, [3]int64{1, 1, 2})

	f = violation("c", "causal")
	f.Certain = false // a stands for it
	tell(true, [3]int64{1, 1, 2})
	f.State = finding.Final
	tell(false, [3]int64{1, 1, 2})
	if len(m.reports.unsure) > 0 {
		t.Errorf("it keeps %v", m.reports.unsure)
	}

	f = finding.Finding{ID: "h", Kind: finding.KindHorizon, Anomaly: "G-single-item", State: finding.Provisional}
	tell(true, [3]int64{2, 1, 2})
}

// A finding that another one stood for, as both were uncertain, counts when it is certain. It does so behind a restart too.
func TestSilentBecomesCertain(t *testing.T) {
	m, _ := toldMachine()
	for _, id := range []string{"a", "b"} {
		f := violation(id, "causal")
		f.Certain = false
		m.reports.leave(&f, []uint64{1}, true)
	}
	if got := counted(m); got != [3]int64{0, 0, 1} {
		t.Fatalf("counted %v", got)
	}
	again, _ := toldMachine()
	if err := again.ReadState(m.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	m = again
	if got := counted(m); got != [3]int64{0, 0, 1} {
		t.Fatalf("counted %v behind a restart", got)
	}
	b := violation("b", "causal")
	b.Revision = 2
	m.reports.leave(&b, []uint64{1}, false)
	if got := counted(m); got != [3]int64{1, 0, 1} {
		t.Errorf("counted %v", got)
	}
}
