package window

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/solve"
)

const recorded = "../../shared/histories"

// recordedBatch reads a history of ../shared/histories, a file or a folder.
func recordedBatch(t *testing.T, name string, format history.Format) *event.Batch {
	t.Helper()
	path := filepath.Join(recorded, name)
	info, err := os.Stat(path)
	if err != nil {
		t.Skipf("needs the recorded histories, which stand beside the checkout in ../shared: %v", err)
	}
	b := &event.Batch{Partitions: []string{"file:" + name}}
	r := history.Reader{Batch: b, Flush: func() error { return nil }}
	if info.IsDir() {
		err = r.ReadDir(format, os.DirFS(path))
	} else {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			err = r.Read(format, f)
			f.Close()
		}
	}
	if err != nil || len(b.Bad) > 0 || len(b.Txns) == 0 {
		t.Fatalf("%s: %v, %d transactions, %d bad records", name, err, len(b.Txns), len(b.Bad))
	}
	return b
}

// visit is a node of an order: a transaction, or its begin or commit.
type visit struct {
	id            string
	begin, commit bool
}

// executionAt is the order of all nodes at the level, as the machine found it: nil if
// there is none.
func executionAt(t *testing.T, m *Machine, l isolation.Level) []visit {
	t.Helper()
	i := slices.Index(m.views, l)
	c := m.choices.constraints(i, false)
	if len(c.unchained) > 0 {
		t.Fatalf("%d keys have no chains", len(c.unchained))
	}
	r := m.solve(i, c)
	if r.Verdict != solve.Satisfiable {
		return nil
	}
	at := make([]int, len(c.nodes))
	for k := range at {
		at[k] = k
	}
	slices.SortFunc(at, func(a, b int) int { return cmp.Compare(r.Order[a], r.Order[b]) })
	var order []visit
	for _, k := range at {
		n := c.nodes[k]
		split := m.graph.Split(i)
		order = append(order, visit{m.record(uint32(m.graph.VertexOf(i, n))).ID, !split || n&1 == 0, !split || n&1 == 1})
	}
	return order
}

// replayed says what is wrong with an order of the committed transactions of b as an
// execution, "" if nothing is. Each begin sees what the commits before it left, and all
// that a transaction reads is that, or what it wrote itself; with snapshots, nobody
// commits a key that changed since its begin; the members of a session follow each
// other. It knows the operations and nothing else.
func replayed(b *event.Batch, order []visit, sessions bool) string {
	type value struct {
		text string // "": there is none
		at   int    // place of the commit
	}
	byID := map[string]*event.Txn{}
	committed := 0
	for i := range b.Txns {
		if t := &b.Txns[i]; t.Status == event.Committed {
			byID[b.Text(t.ID)] = t
			committed++
		}
	}
	state := map[string]value{}
	begun, ended := map[string]int{}, map[string]bool{}
	reached := map[string]int64{} // by session: the latest seq that committed
	for place, x := range order {
		t := byID[x.id]
		if t == nil {
			return fmt.Sprintf("%s did not commit", x.id)
		}
		session := b.Text(t.Session)
		if x.begin {
			if _, twice := begun[x.id]; twice {
				return x.id + " begins twice"
			}
			begun[x.id] = place
			if last, ok := reached[session]; sessions && ok && t.Seq != last+1 {
				return fmt.Sprintf("%s is number %d of its session and begins behind %d", x.id, t.Seq, last)
			}
			own := map[string]string{}
			for _, o := range b.OpsOf(t) {
				key, got := b.Text(o.Key), b.Text(o.Value)
				if o.Flags&event.NotFound != 0 {
					got = ""
				}
				want, wrote := own[key]
				if !wrote {
					want = state[key].text
				}
				switch {
				case o.Kind == event.Write:
					own[key] = got
				case o.Kind != event.Read:
					return fmt.Sprintf("%s: %s", x.id, o.Kind)
				case got != want:
					return fmt.Sprintf("%s reads %q of %s, and %q is there", x.id, got, key, want)
				}
			}
		}
		if !x.commit {
			continue
		}
		at, ok := begun[x.id]
		if !ok || ended[x.id] {
			return x.id + " commits without a begin, or twice"
		}
		ended[x.id], reached[session] = true, t.Seq
		for _, o := range b.OpsOf(t) {
			if key := b.Text(o.Key); o.Kind == event.Write {
				if last := state[key]; last.at > at && last.at != place {
					return fmt.Sprintf("%s writes %s, which changed since it began", x.id, key)
				}
				state[key] = value{b.Text(o.Value), place}
			}
		}
	}
	if len(ended) != committed || len(begun) != committed {
		return fmt.Sprintf("%d transactions of %d", len(ended), committed)
	}
	return ""
}

// TestExecution: where a history of blind writes is said to hold, the order that was
// found replays, at serializability as a serial execution; where it is not, none was
// found.
func TestExecution(t *testing.T) {
	for _, c := range []struct {
		name     string
		format   history.Format
		sessions bool
		ser, si  bool
	}{
		{"polysi-valid/general-rw-10k/history.bincode", history.DBCop, true, true, true},
		{"polysi-valid/fig7-0.bincode", history.DBCop, true, false, true},
		{"polysi-valid/fig7-1.bincode", history.DBCop, true, false, true},
		{"cobra/twitter-10000", history.Cobra, false, true, true},
		{"cobra/chengRW-500", history.Cobra, false, true, true},
		{"cobra/cock-G2", history.Cobra, false, false, true},
		{"viper/blindw-rw-1000", history.Viper, false, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := recordedBatch(t, c.name, c.format)
			family := isolation.Plain
			if c.sessions {
				family = isolation.StrongSession
			}
			levels := []isolation.Level{{Base: isolation.SnapshotIsolation, Family: family}, {Base: isolation.Serializable, Family: family}}
			m := New(Config{Levels: levels, Named: true, Unbounded: true, Contract: Contract{Complete: true}})
			var eff Effects
			all := make([]int32, len(b.Txns))
			for i := range all {
				all[i] = int32(i)
			}
			m.Step(b, all, 0, &eff)
			m.Close(&eff)
			for i, holds := range []bool{c.si, c.ser} {
				want := Violated
				if holds {
					want = OK
				}
				if got, why := m.Verdict(levels[i]); got != want {
					t.Errorf("%s is %s: %s", levels[i], got, why)
				}
				order := executionAt(t, m, levels[i])
				if !holds {
					if order != nil {
						t.Errorf("%s: there is an order", levels[i])
					}
					continue
				}
				if why := replayed(b, order, c.sessions); why != "" {
					t.Errorf("%s: %s", levels[i], why)
				}
				if moved := misplaced(b, order); moved != nil && replayed(b, moved, false) == "" {
					t.Errorf("%s: a wrong order replays as well", levels[i])
				}
			}
		})
	}
}

// misplaced is the order with one transaction that read a value taken to the beginning;
// nil if nobody read any.
func misplaced(b *event.Batch, order []visit) []visit {
	reads := map[string]bool{}
	for i := range b.Txns {
		t := &b.Txns[i]
		for _, o := range b.OpsOf(t) {
			if o.Kind == event.Read && o.Flags&event.NotFound == 0 {
				reads[b.Text(t.ID)] = true
			}
			if o.Kind == event.Write {
				break
			}
		}
	}
	for i, x := range order {
		if x.begin && reads[x.id] && i > 0 {
			return slices.Concat([]visit{x}, order[:i], order[i+1:])
		}
	}
	return nil
}
