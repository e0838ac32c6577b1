package simtest

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/verify"
	"github.com/isowatch/isowatch/internal/witnesses"
	"github.com/isowatch/isowatch/internal/workload"
)

// TestChangedWitnesses changes one thing in each witness that the machine made, and asks the
// oracle about what the verifier still accepts: whether there is an execution, with a blind
// writer for each value that no member wrote, of which the strongest level says what the
// members recorded. Then the witness is no contradiction, and must be refused.
func TestChangedWitnesses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../verify/testdata/real.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := witnesses.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	changed, accepted, asked := 0, 0, 0
	for i, c := range cases {
		if testrun.LeavesOut(i, 4) {
			continue
		}
		if c.Refuses != "" {
			continue
		}
		changes := append(c.Witness.Changes(), witnesses.Change{Name: "nothing", Witness: c.Witness})
		for _, x := range changes {
			w, err := x.Witness.Finding()
			if err != nil {
				continue // no record says that
			}
			changed++
			if verify.Verify(w) != nil {
				continue
			}
			accepted++
			possible, ok := innocent(x.Witness, w)
			if ok {
				asked++
			}
			if ok && possible {
				t.Errorf("%s, but %s, is accepted and is no contradiction:\n%s", c.Name, x.Name, x.Witness.Text())
			}
		}
	}
	t.Logf("%d witnesses with one thing changed, %d accepted, %d of them contradict the oracle's strongest level, %d are beyond it", changed, accepted, asked, accepted-asked)
	if changed < testrun.Size(7_000, 30_000) || asked < testrun.Size(250, 1_000) {
		t.Errorf("%d changed, %d asked", changed, asked)
	}
}

// innocent says whether some execution shows what the members recorded, at a level that the
// finding refutes; false for ok where the oracle does not say: it knows neither other versions
// than values nor records beside these, on which the findings of its kind rest.
func innocent(x *witnesses.Witness, w *finding.Witness) (possible, ok bool) {
	switch w.Anomaly {
	case finding.GarbageRead, finding.OutOfBounds, finding.WrongTotal, finding.SessionOverlap, finding.SequenceGap, finding.Contradictory, finding.CyclicVersions:
		return false, false
	}
	if w.Numeric || w.ByVersion || w.ByCommit || slices.ContainsFunc(w.Edges, func(e finding.Dependency) bool { return len(e.Past) == 1 && e.Label&finding.Saturated == 0 }) {
		return false, false
	}
	var h oracle.History
	sets, ranges := map[string]bool{}, false
	for i := range x.Members {
		m := &x.Members[i]
		t := m.Txn.Clone()
		if m.Source != x.Members[0].Source || m.Epoch != x.Members[0].Epoch {
			return false, false // not all of them in one history: those of others prove nothing
		}
		if t.Status == event.Unknown {
			t.Status = event.Committed // the machine looks for who has read from it, and here it may be anybody
		}
		if m.Stale {
			t.Session, t.Seq, t.Start, t.End = "", 0, 0, 0
		}
		for _, o := range t.Ops {
			if o.Kind == event.Inc || o.Data == event.Counter || o.Version != 0 || o.PrevVersion != 0 {
				return false, false
			}
			sets[o.Key] = sets[o.Key] || o.Data == event.Set || o.Kind == event.Add || o.Kind == event.Remove
			ranges = ranges || o.Kind == event.Range
		}
		h = append(h, t)
	}
	for i := range h {
		for _, o := range h[i].Ops {
			if sets[o.Key] && o.Absent || ranges && o.Kind != event.Range && o.Key[0] != 'x' {
				return false, false // a set reads as one, and only rows that begin with x are in ranges
			}
		}
	}
	h = append(h, unrecorded(h)...)
	levels := []oracle.Level{"strong-serializable"}
	levels = append(levels, refutedBy(w)...)
	for _, l := range levels {
		p, err := oracle.PossibleByCause(h, l, false)
		if err != nil {
			return false, false
		}
		if p {
			return true, true
		}
	}
	return false, true
}

// refutedBy are the weakest levels that the finding is said to refute, or stronger ones that
// the oracle tries all orders for.
func refutedBy(w *finding.Witness) (levels []oracle.Level) {
	name := isolation.NameCycle
	switch {
	case w.Anomaly == finding.Nonlinearizable:
		return nil
	case len(w.Choices) > 0:
		return []oracle.Level{oracle.Level(w.Level)}
	case len(w.Edges) == 0 || w.Anomaly == finding.Divergence:
		name = func(w *finding.Witness) isolation.Name { return isolation.NameOf(w.Anomaly) }
	}
	for _, l := range name(w).Weakest {
		switch {
		case l.Base == isolation.CursorStability || l.Base == isolation.ConsistentView:
			l.Base = isolation.SnapshotIsolation
		case l.Base == isolation.RepeatableRead || l.Base == isolation.UpdateSerializable:
			l.Base = isolation.Serializable
		case l.Special == 0 && !l.Base.Implies(isolation.Prefix):
			l.Base = isolation.Prefix
		}
		levels = append(levels, oracle.Level(l.String()))
	}
	return levels
}

// unrecorded are a blind writer for each value that was read and that no member wrote.
func unrecorded(h oracle.History) (more oracle.History) {
	type value struct {
		key string
		v   int64
	}
	known := map[value]bool{}
	for i := range h {
		for _, o := range h[i].Ops {
			if o.Kind != event.Read && o.Kind != event.Range {
				known[value{o.Key, o.Value}] = true
			}
		}
	}
	add := func(o workload.Op) {
		if x := (value{o.Key, o.Value}); !known[x] {
			known[x] = true
			more = append(more, workload.Txn{ID: fmt.Sprintf("unrecorded %d", len(more)), Status: event.Committed, Ops: []workload.Op{o}})
		}
	}
	for i := range h {
		for _, o := range h[i].Ops {
			switch {
			case o.Kind == event.CAS && o.Success && o.Expected.Known && !o.Expected.Nothing:
				add(workload.Write(o.Key, o.Expected.Value))
			case o.Kind == event.CAS && o.Seen.Known && !o.Seen.Nothing:
				add(workload.Write(o.Key, o.Seen.Value))
			case o.Kind == event.Range:
				for _, r := range o.Rows {
					add(workload.Write(r.Key, r.Value))
				}
			case o.Kind != event.Read || o.Absent:
			case o.Data == event.Set:
				for _, v := range o.List {
					add(workload.Op{Kind: event.Add, Key: o.Key, Value: v})
				}
			case o.IsList:
				for _, v := range o.List {
					add(workload.Append(o.Key, v))
				}
			default:
				add(workload.Write(o.Key, o.Value))
			}
		}
	}
	return more
}
