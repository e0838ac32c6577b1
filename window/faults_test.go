package window

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// toldMachine is a machine of which only what is told is looked at.
func toldMachine() (*Machine, *Effects) {
	m := New(Config{Contract: Contract{Complete: true}})
	m.clock.watermark = 0
	return m, &m.results
}

func violation(id string, refutes ...string) finding.Finding {
	return finding.Finding{ID: id, Kind: finding.KindViolation, State: finding.Provisional, Revision: 1, Certain: true, Anomaly: "G-single-item", Refutes: refutes}
}

// say tells the finding, as it is when it is found.
func say(m *Machine, id string, edges []uint64, refutes ...string) {
	f := violation(id, refutes...)
	m.reports.open.add(&openFinding{Finding: f, shares: edges})
	m.reports.leave(&f, edges, true)
}

// fell withdraws the finding.
func fell(m *Machine, id string) {
	f := m.reports.open.ids[id]
	f.Finding.State = finding.Withdrawn
	f.Finding.Revision++
	m.reports.emit(f)
	m.reports.open.close(f)
}

func toldOf(eff *Effects) string {
	var all []string
	for _, f := range eff.Findings {
		text := fmt.Sprintf("%s %s r%d", f.ID, f.State, f.Revision)
		if f.Count > 0 {
			text += fmt.Sprintf(" of %d", f.Count)
		}
		all = append(all, text)
	}
	eff.Reset()
	return strings.Join(all, ", ")
}

func wantTold(t *testing.T, eff *Effects, want string) {
	t.Helper()
	if got := toldOf(eff); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// Those that share no edge are separate faults, as is one that refutes more.
func TestSeparateFaults(t *testing.T) {
	m, eff := toldMachine()
	say(m, "a", []uint64{1, 2}, "causal")
	say(m, "b", []uint64{2, 3}, "causal")
	say(m, "c", []uint64{4}, "causal")
	say(m, "d", []uint64{2}, "read-atomic")
	wantTold(t, eff, "a provisional r1, c provisional r1, d provisional r1")
	if m.Counters.Merged != 1 || m.reports.found["G-single-item"] != [3]int64{3} {
		t.Errorf("%d merged, found %v", m.Counters.Merged, m.reports.found)
	}
}

// When the finding that was told falls, the next one is told, and stands for those that share
// an edge with it. One that falls in the same step is never told, nor taken back.
func TestPromoted(t *testing.T) {
	m, eff := toldMachine()
	say(m, "a", []uint64{1, 2, 3}, "causal")
	say(m, "b", []uint64{1}, "causal")
	say(m, "c", []uint64{2, 5}, "causal")
	say(m, "d", []uint64{3, 5}, "causal")
	settled := m.reports.open.ids["d"]
	settled.Finding.State = finding.Final
	m.reports.open.recent = append(m.reports.open.recent, recentFinding{Finding: settled.Finding, Shares: settled.shares})
	m.reports.open.close(settled)
	eff.Reset()
	fell(m, "a")
	fell(m, "b")
	m.reports.settleFaults()
	wantTold(t, eff, "a withdrawn r2, c provisional r1")
	if m.Counters.WithdrawnOther != 1 {
		t.Errorf("%d withdrawn", m.Counters.WithdrawnOther)
	}
	fell(m, "c")
	m.reports.settleFaults()
	wantTold(t, eff, "c withdrawn r2, d provisional r1, d final r1")
}

// A count that has grown is told a minute after the finding was told last, and not before.
func TestCountIsToldOnceAMinute(t *testing.T) {
	m, eff := toldMachine()
	say(m, "a", []uint64{1}, "causal")
	say(m, "b", []uint64{1}, "causal")
	m.clock.watermark += int64(time.Minute) - 1
	m.reports.settleFaults()
	wantTold(t, eff, "a provisional r1")
	m.clock.watermark++
	m.reports.settleFaults()
	m.reports.settleFaults()
	wantTold(t, eff, "a provisional r2 of 2")
	say(m, "c", []uint64{1}, "causal")
	m.reports.settleFaults()
	wantTold(t, eff, "")
	fell(m, "a")
	wantTold(t, eff, "a withdrawn r3")
	if m.reports.open.revisions["a"] != 3 {
		t.Errorf("it would come back with revision %d", m.reports.open.revisions["a"]+1)
	}
}

// After a restart the same is told.
func TestFaultsAreSaved(t *testing.T) {
	m, eff := toldMachine()
	say(m, "a", []uint64{1, 2}, "causal")
	say(m, "b", []uint64{1}, "causal")
	eff.Reset()
	again, out := toldMachine()
	if err := again.ReadState(m.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		m   *Machine
		eff *Effects
	}{{m, eff}, {again, out}} {
		say(x.m, "c", []uint64{2}, "causal")
		x.m.clock.watermark += int64(time.Minute)
		x.m.reports.settleFaults()
		fell(x.m, "a")
		x.m.reports.settleFaults()
		wantTold(t, x.eff, "a provisional r2 of 3, a withdrawn r3, b provisional r1, c provisional r1")
	}
}

// A read is one fault, whatever overwrote what it should not have seen.
func TestSharesOfARead(t *testing.T) {
	_, eff := check(t, Config{Unbounded: true, Contract: Contract{Complete: true}}, `
{"txn":"A","session":"a","start":0,"end":9,"status":"committed","ops":[{"op":"append","key":"x","value":1}]}
{"txn":"B","session":"b","start":10,"end":19,"status":"committed","ops":[{"op":"r","key":"x","value":[1]},{"op":"append","key":"x","value":2},{"op":"w","key":"y","value":1}]}
{"txn":"C","session":"c","start":20,"end":29,"status":"committed","ops":[{"op":"r","key":"x","value":[1,2]},{"op":"append","key":"x","value":3},{"op":"w","key":"z","value":1}]}
{"txn":"D","session":"d","start":30,"end":39,"status":"committed","ops":[{"op":"r","key":"x","value":[1]},{"op":"r","key":"y","value":1},{"op":"r","key":"z","value":1}]}`)
	var ids []string
	for _, f := range eff.Findings {
		if f.Kind == finding.KindViolation && !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) != 1 {
		t.Errorf("%d findings: %s", len(ids), toldOf(eff))
	}
}

// A finding that stands for others says when the last of them was seen: when its last transaction
// ended. To become final does not move that.
func TestLastOfAll(t *testing.T) {
	m, eff := toldMachine()
	say(m, "a", []uint64{1}, "causal")
	for id, ended := range map[string]int64{"b": 33e9, "c": 21e9, "d": math.MaxInt64} { // d has no times
		f := violation(id, "causal")
		m.reports.open.recent = append(m.reports.open.recent, recentFinding{Finding: f, Ended: ended})
		m.reports.leave(&f, []uint64{1}, true)
	}
	eff.Reset()
	m.clock.watermark = 2 * countEvery
	m.reports.settleFaults()
	final := m.reports.open.ids["a"]
	final.Finding.State = finding.Final
	final.Finding.Revision++
	m.reports.emit(final)
	if len(eff.Findings) != 2 {
		t.Fatalf("%d revisions", len(eff.Findings))
	}
	for _, f := range eff.Findings {
		if f.Count != 4 || f.LastAt != wallTime(33e9) {
			t.Errorf("%s: it stands for %d, the last at %q", f.State, f.Count, f.LastAt)
		}
	}
}
