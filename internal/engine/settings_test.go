package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// settled is a store with what is asked of it next.
type settled struct {
	t       *testing.T
	store   *store.Store
	engine  *engine.Engine
	config  window.Config
	now     int64
	options engine.Options
}

func newSettled(t *testing.T, snapshotBytes int64) *settled {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return &settled{t: t, store: st, now: awayEpoch, options: engine.Options{SnapshotBytes: snapshotBytes}}
}

// open recovers as after a kill: nothing is written at the end of a life.
func (s *settled) open(cfg window.Config) error {
	s.config = cfg
	o := s.options
	o.Configure = func(string) window.Config { return cfg }
	o.Now = func() int64 { return s.now }
	o.Gather = cmp.Or(o.Gather, time.Hour)
	e, err := engine.Open(s.store, o)
	if err == nil {
		s.engine = e
	}
	return err
}

// read takes chunks in, in one step, one second after the one before.
func (s *settled) read(chunks ...ingest.Chunk) {
	s.t.Helper()
	s.now += int64(time.Second)
	in := make(chan ingest.Chunk, len(chunks))
	for _, c := range chunks {
		in <- c
	}
	close(in)
	if err := s.engine.Run(context.Background(), in, false); err != nil {
		s.t.Fatal(err)
	}
}

// findings are all that are stored, as JSON.
func (s *settled) findings() string {
	s.t.Helper()
	var out bytes.Buffer
	err := engine.Reader{Store: s.store}.Each(func(f *finding.Finding) error {
		return json.NewEncoder(&out).Encode(f)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.String()
}

// source returns what is known of the only source, without what depends on how memory
// was handed out.
func (s *settled) source() engine.SourceStatus {
	s.t.Helper()
	if n := len(s.engine.Status().Sources); n != 1 {
		s.t.Fatalf("%d sources", n)
	}
	x := *s.engine.Status().Sources[0]
	x.Sizes.Bytes = 0
	return x
}

// TestSettingsChange kills an engine after every step, and changes the settings in
// the middle. What is replayed is replayed with its own: all that is stored is the
// same as when only the change of settings begins a new life.
func TestSettingsChange(t *testing.T) {
	level := func(b isolation.Base) isolation.Level { return isolation.Level{Base: b} }
	before := window.Config{
		Window: window.For(5 * time.Millisecond), Lateness: window.For(0), Pane: 50 * time.Millisecond,
		Contract: window.Contract{Complete: true}, Expect: level(isolation.SnapshotIsolation),
	}
	chunks := workloadChunks(t, 1200, 12)
	for i, c := range []struct {
		name   string
		change func(*window.Config)
	}{
		{"window", func(c *window.Config) { c.Window = window.For(time.Minute) }},
		{"lateness", func(c *window.Config) { c.Lateness = window.For(time.Second) }},
		{"expected level", func(c *window.Config) { c.Expect = level(isolation.Serializable) }},
		{"contract", func(c *window.Config) { c.Contract = window.Contract{Existing: true, UnmonitoredWriters: true} }},
		{"live cap", func(c *window.Config) { c.LiveCap = 100 }},
		{"max transaction", func(c *window.Config) { c.MaxTxn = time.Millisecond }},
		{"a level comes", func(c *window.Config) { c.Levels = append(isolation.Watched(), level(isolation.Prefix)) }},
		{"a level without the edges of others comes", func(c *window.Config) {
			c.Levels = append(isolation.Watched(), isolation.Level{Base: isolation.Serializable, Family: isolation.Strong})
		}},
		{"weak levels come", func(c *window.Config) {
			c.Levels = append(isolation.Watched(), level(isolation.Causal), isolation.Level{Base: isolation.ReadAtomic, Family: isolation.StrongSession}, isolation.Level{Special: isolation.Linearizable})
		}},
		{"levels go", func(c *window.Config) { c.Levels = isolation.Watched()[1:2] }},
		{"other levels", func(c *window.Config) {
			c.Levels = []isolation.Level{level(isolation.ReadCommitted), level(isolation.ReadAtomic)}
		}},
		{"order of the levels", func(c *window.Config) {
			c.Levels = isolation.Watched()
			c.Levels[0], c.Levels[1] = c.Levels[1], c.Levels[0]
		}},
	} {
		for j, snapshotBytes := range []int64{20_000, 1 << 40} {
			if testrun.LeavesOut(i+j, 2) {
				continue // the short form has each change with one size
			}
			t.Run(fmt.Sprintf("%s/snapshots after %d", c.name, snapshotBytes), func(t *testing.T) {
				after := before
				c.change(&after)
				killed, whole := newSettled(t, snapshotBytes), newSettled(t, 1<<40)
				for i, chunk := range chunks {
					cfg := before
					if i >= len(chunks)/2 {
						cfg = after
					}
					if err := killed.open(cfg); err != nil {
						t.Fatal(err)
					}
					if i > 0 {
						if got, want := killed.source(), whole.source(); !reflect.DeepEqual(got, want) {
							t.Fatalf("recovered before step %d:\n%+v\nwant\n%+v", i, got, want)
						}
					}
					if i == 0 || i == len(chunks)/2 {
						if err := whole.open(cfg); err != nil {
							t.Fatal(err)
						}
					}
					killed.read(chunk)
					whole.read(chunk)
				}
				if got, want := killed.findings(), whole.findings(); got != want {
					t.Errorf("stored after kills:\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

// workloadChunks are that many transactions of one partition, each chunk at the
// end of it.
func workloadChunks(t *testing.T, count, chunks int) []ingest.Chunk {
	t.Helper()
	g, err := workload.NewGenerator(workload.Config{
		Kind: workload.Lists, Count: count, Keys: 50, PlantEvery: 100, Aborted: 0.05, Unknown: 0.05, Start: awayEpoch,
	}, rand.New(rand.NewPCG(3, 3)))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]ingest.Chunk, chunks)
	for n := 0; ; n++ {
		txn, ok := g.Next()
		if !ok {
			return out
		}
		c := &out[min(n*chunks/count, chunks-1)]
		c.Messages = append(c.Messages, ingest.Message{Offset: int64(n), Value: workload.AppendJSON(nil, &txn)})
		c.Partition, c.Cursor, c.CaughtUp = "p", ingest.Cursor{Next: int64(n + 1)}, true
	}
}

// A contract that promises more than that of the folder's beginning is not
// believed: a garbage read stays one that a missing record may explain.
func TestContractBecomesOnlyWeaker(t *testing.T) {
	read := func(offset int) ingest.Chunk {
		return ingest.Chunk{
			Partition: "p", Cursor: ingest.Cursor{Next: int64(offset + 1)}, CaughtUp: true,
			Messages: []ingest.Message{{Offset: int64(offset), Value: fmt.Appendf(nil,
				`{"txn":"T%d","start":%d,"end":%d,"status":"committed","ops":[{"op":"r","key":"x%d","value":7}]}`,
				offset, awayEpoch+int64(offset), awayEpoch+int64(offset)+1, offset)}},
		}
	}
	promises, doubts := window.Contract{Complete: true}, window.Contract{Existing: true, UnmonitoredWriters: true}
	for _, c := range []struct {
		name   string
		lives  []window.Contract
		accuse bool
	}{
		{"from the beginning", []window.Contract{promises, promises}, true},
		{"later", []window.Contract{doubts, promises}, false},
		{"no longer", []window.Contract{promises, doubts}, false},
		{"again", []window.Contract{promises, doubts, promises}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSettled(t, 1<<40)
			for i, contract := range c.lives {
				if err := s.open(window.Config{Contract: contract, MaxTxn: time.Millisecond}); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					s.read(ingest.Chunk{Partition: "p", CaughtUp: true, Messages: []ingest.Message{{Value: fmt.Appendf(nil,
						`{"txn":"T","start":%d,"end":%d,"status":"committed","ops":[{"op":"w","key":"y","value":7}]}`, awayEpoch-2, awayEpoch-1)}}})
				} else {
					s.read(ingest.Chunk{Partition: "p", CaughtUp: true}) // the first step of the life
				}
			}
			s.read(read(1))
			in := make(chan ingest.Chunk)
			close(in)
			if err := s.engine.Run(context.Background(), in, true); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(s.findings(), `"garbage-read"`); got != c.accuse {
				t.Errorf("garbage read reported: %v, want %v:\n%s", got, c.accuse, s.findings())
			}
		})
	}
}

// Other levels are watched from the first step of a new life on, with or without a
// snapshot; pasts with session order cannot begin beside others that were kept without.
func TestOtherLevels(t *testing.T) {
	ser, si := isolation.Level{Base: isolation.Serializable}, isolation.Level{Base: isolation.SnapshotIsolation}
	for _, snapshotBytes := range []int64{1, 1 << 40} {
		s := newSettled(t, snapshotBytes)
		open := func(levels ...isolation.Level) {
			t.Helper()
			if err := s.open(window.Config{Levels: levels}); err != nil {
				t.Fatal(err)
			}
		}
		open(ser)
		s.read(record("p", 0, 0, true))
		open(si)
		s.read(record("p", 1, 0, true))
		x := s.source()
		if len(x.Verdicts) != 1 || x.Verdicts["snapshot-isolation"].Since != s.now || !strings.Contains(x.Verdicts["snapshot-isolation"].Reason, "watched since 20") {
			t.Errorf("verdicts %+v", x.Verdicts)
		}
		if got := x.Ended["serializable"]; got.Verdict != window.Unknown || got.Until != s.now {
			t.Errorf("ended %+v", x.Ended)
		}
		open(si) // a kill behind the change
		if got := s.source(); !reflect.DeepEqual(got, x) {
			t.Errorf("recovered:\n%+v\nwant\n%+v", got, x)
		}
		open(si, si)
		open(si, isolation.Level{Base: isolation.ReadAtomic})
		s.read(record("p", 2, 0, true))
		err := s.open(window.Config{Levels: []isolation.Level{si, {Base: isolation.ReadAtomic}, {Base: isolation.Causal, Family: isolation.StrongSession}}})
		if !errors.Is(err, engine.ErrSettings) || !strings.Contains(err.Error(), "strong-session-causal") || !strings.Contains(err.Error(), "read-atomic") {
			t.Errorf("error %v, want one that names both levels", err)
		}
		open(si)
		s.read(record("p", 3, 0, true))
		open(si, isolation.Level{Base: isolation.ReadAtomic}, isolation.Level{Base: isolation.Causal, Family: isolation.StrongSession})
	}
}

// A store of another layout is refused, by the engine and by who reads it.
func TestOtherLayout(t *testing.T) {
	s := newSettled(t, 1<<40)
	if err := s.store.Commit([]store.Entry{{Space: 'h', Key: []byte("head"), Value: []byte(`{"step":3,"version":1}`)}}); err != nil {
		t.Fatal(err)
	}
	for who, err := range map[string]error{
		"engine": s.open(window.Config{}),
		"reader": engine.Reader{Store: s.store}.Check(),
	} {
		if !errors.Is(err, store.ErrFormat) || !errors.Is(err, store.ErrOlder) || !strings.Contains(err.Error(), "layout 1") || !strings.Contains(err.Error(), "reads 5") {
			t.Errorf("%s: error %v, want one that names both layouts", who, err)
		}
	}
}
