package engine_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// mirror follows a store by what the engine says of its commits.
type mirror struct {
	t      *testing.T
	store  *store.Store
	orders map[string]uint64
}

func (m *mirror) changed(ids []string, forgotten uint64) {
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		m.t.Errorf("ids come twice: %q", ids)
	}
	for _, id := range ids {
		order, _, ok, err := engine.Reader{Store: m.store}.Stored(id)
		switch {
		case err != nil:
			m.t.Error(err)
		case ok:
			m.orders[id] = order
		default:
			delete(m.orders, id)
		}
	}
	maps.DeleteFunc(m.orders, func(_ string, order uint64) bool { return order <= forgotten })
}

func (m *mirror) same() {
	m.t.Helper()
	want := map[string]uint64{}
	err := engine.Reader{Store: m.store}.Before(0, func(order uint64, text []byte) bool {
		f, ok, err := engine.Reader{Store: m.store}.At(order)
		if err != nil || !ok {
			m.t.Errorf("no finding at %d: %v", order, err)
		}
		want[f.ID] = order
		return true
	})
	if err != nil || !maps.Equal(m.orders, want) {
		m.t.Errorf("told of %d findings, %d are stored: %v", len(m.orders), len(want), err)
	}
}

// Who is told of changed ids alone knows what is stored.
func TestChangedFindingsAreTold(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	m := &mirror{t: t, store: st, orders: map[string]uint64{}}
	e, err := engine.Open(st, engine.Options{
		Configure: func(string) window.Config {
			return window.Config{
				Levels: levelsBefore(), Expect: isolation.Level{Base: isolation.Serializable},
				Window: window.For(time.Second), Lateness: window.For(200 * time.Millisecond), Contract: window.Contract{Complete: true, Observed: true},
			}
		},
		StepBytes: 2048, Now: func() int64 { return awayEpoch }, Changed: m.changed,
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := workload.NewGenerator(workload.Config{Kind: workload.Registers, Count: 1500, Keys: 100, Sessions: 8, PlantEvery: 60, Aborted: 0.1, Unknown: 0.2, Start: awayEpoch}, rand.New(rand.NewPCG(1, 26)))
	if err != nil {
		t.Fatal(err)
	}
	in := make(chan ingest.Chunk)
	go func() {
		defer close(in)
		var late []ingest.Message // writers that come behind their readers
		offset := [2]int64{}
		for n := 0; ; n++ {
			txn, ok := g.Next()
			p := 0
			if n%5 == 0 {
				p = 1
			}
			if ok {
				message := ingest.Message{Offset: offset[p], Value: workload.AppendJSON(nil, &txn)}
				offset[p]++
				if p == 1 {
					late = append(late, message)
				} else {
					in <- ingest.Chunk{Partition: "0", Cursor: ingest.Cursor{Next: offset[0]}, Messages: []ingest.Message{message}}
				}
			}
			if len(late) == 10 || !ok && len(late) > 0 {
				in <- ingest.Chunk{Partition: "1", Cursor: ingest.Cursor{Next: offset[1]}, Messages: late}
				late = nil
			}
			if !ok {
				return
			}
		}
	}()
	if err := e.Run(context.Background(), in, true); err != nil {
		t.Fatal(err)
	}
	m.same()
	if len(m.orders) < 10 {
		t.Errorf("%d findings: that shows little", len(m.orders))
	}
}

func TestForgottenFindingsAreTold(t *testing.T) {
	x := newTold(t, 0, 0)
	m := &mirror{t: t, store: x.store, orders: map[string]uint64{}}
	x.options.Retention.Findings.Age = 10 * time.Second
	x.options.Changed = func(ids []string, forgotten uint64) {
		m.store = x.store
		m.changed(ids, forgotten)
	}
	x.life()
	x.find(3)
	m.same()
	x.idle(4)
	x.find(2)
	x.idle(6)
	m.same()
	if len(m.orders) != 2 {
		t.Errorf("%d findings are left, want 2", len(m.orders))
	}
}

// Marks stay where the finding's retention removes all that they are about.
func TestMarksStay(t *testing.T) {
	x := newTold(t, 0, 0)
	x.options.Retention.Findings.Age = 10 * time.Second
	x.life()
	for group, text := range map[string]string{"a": "1", "b": "2", "c": "3"} {
		if err := (engine.Reader{Store: x.store}).Mark(group, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := (engine.Reader{Store: x.store}).Mark("b", nil); err != nil {
		t.Fatal(err)
	}
	x.find(3)
	x.idle(20)
	x.hasStored(0, -1)
	got := map[string]string{}
	err := engine.Reader{Store: x.store}.Marks(func(group string, text []byte) error { got[group] = string(text); return nil })
	if err != nil || !maps.Equal(got, map[string]string{"a": "1", "c": "3"}) {
		t.Errorf("%v, %v", got, err)
	}
}
