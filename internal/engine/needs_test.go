package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// retained is n read-modify-writes of two sources in turn over six keys each. One
// in 20 reads what the one before has read, which is a lost update; three write a
// value that takes more than one piece of the store.
func retained(n int) []ingest.Message {
	rng := rand.New(rand.NewPCG(1, 1))
	last := map[string]string{}
	old := map[string]string{}
	var ms []ingest.Message
	for i := range n {
		source := []string{"a", "b"}[i%2]
		key := fmt.Sprintf("%s%d", source, rng.IntN(6))
		read := last[key]
		if i%20 == 19 && old[key] != "" {
			read = old[key]
		}
		value := fmt.Sprintf("v%d", i)
		if i%(n/3) == 7 {
			value += strings.Repeat("x", 600<<10)
		}
		seen := `"found":false`
		if read != "" {
			seen = fmt.Sprintf(`"value":"%s"`, read)
		}
		at := awayEpoch + int64(i)*int64(time.Millisecond)
		ms = append(ms, ingest.Message{Offset: int64(i), Value: fmt.Appendf(nil,
			`{"txn":"t%d","source":"%s","session":"s%d","seq":%d,"start":%d,"end":%d,"status":"committed","ops":[{"op":"r","key":"%s",%s},{"op":"w","key":"%s","value":"%s"}]}`,
			i, source, i%8/2, i/8, at-1, at, key, seen, key, value)})
		old[key], last[key] = read, value
	}
	return ms
}

// found are the findings of an engine that keeps so many keys in memory, by life in
// turn, after as many lives as there are cuts and one.
func found(t *testing.T, ms []ingest.Message, keyCaps []int, cuts ...int) (findings []string, last *engine.Status) {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	last = lives(t, st, ms, func(life int) engine.Options {
		return engine.Options{
			Configure: func(string) window.Config {
				return window.Config{KeyCap: keyCaps[life%len(keyCaps)], Window: window.For(3 * time.Millisecond), Lateness: window.For(0),
					Contract: window.Contract{Complete: true}}
			},
			StepBytes: 1, SnapshotBytes: 1 << 20,
		}
	}, cuts)
	txns, out := 0, 0
	err = st.Scan('s', nil, nil, func(key, _ []byte) error {
		if infer.RecordKind(key[2]) == infer.TxnRecord && key[len(key)-1] == 0 {
			txns++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range last.Sources {
		out += int(x.Spilled.Txns) + x.Sizes.Txns // those in memory may have a record from before
	}
	if txns > out {
		t.Errorf("%d records of transactions, want at most %d", txns, out)
	}
	return findingsIn(t, st), last
}

// lives runs the messages through an engine that is opened again at each cut. It returns the last
// status.
func lives(t *testing.T, st *store.Store, ms []ingest.Message, options func(life int) engine.Options, cuts []int) (last *engine.Status) {
	t.Helper()
	from := 0
	for life, to := range append(cuts, len(ms)) {
		e, err := engine.Open(st, options(life))
		if err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		in := make(chan ingest.Chunk, 1)
		in <- ingest.Chunk{Partition: "p", Cursor: ingest.Cursor{Next: int64(to)}, CaughtUp: true, Messages: slices.Clone(ms[from:to])}
		close(in)
		if err := e.Run(context.Background(), in, to == len(ms)); err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		from, last = to, e.Status()
	}
	return last
}

// findingsIn are the findings of the store, as JSON.
func findingsIn(t *testing.T, st *store.Store) (all []string) {
	t.Helper()
	err := engine.Reader{Store: st}.Each(func(f *finding.Finding) error {
		text, err := json.Marshal(f)
		all = append(all, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRetainedState runs steps of one record each through the pipeline, so that
// keys come back while what put them out is on its way to the disk, and through
// recoveries. What is found is what is found with everything in memory.
func TestRetainedState(t *testing.T) {
	ms := retained(600)
	want, _ := found(t, ms, []int{0})
	if len(want) < 10 {
		t.Fatalf("%d findings: the history should have lost updates", len(want))
	}
	for _, cuts := range [][]int{nil, {1, 100, 101, 250, 400}} {
		got, s := found(t, ms, []int{1}, cuts...)
		if !slices.Equal(got, want) {
			t.Errorf("cuts %v: %d findings, want %d:\n%s\nwant\n%s", cuts, len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, x := range s.Sources {
			if x.Spilled.Returned < 200 || x.Sizes.Keys > 20 {
				t.Errorf("cuts %v: source %s: %+v out, %d keys in memory", cuts, x.Source, x.Spilled, x.Sizes.Keys)
			}
		}
	}
}

// TestOtherSettings recovers with another cap each time: a replay then puts out other
// keys than the steps did.
func TestOtherSettings(t *testing.T) {
	ms := retained(600)
	want, _ := found(t, ms, []int{0})
	for _, keyCaps := range [][]int{{3, 1}, {1, 3, 3}, {3, 1, 1}, {1, 0, 2}, {0, 1}} {
		got, _ := found(t, ms, keyCaps, 30, 31, 100, 101, 150, 155, 250, 333, 400, 402, 500)
		if !slices.Equal(got, want) {
			t.Errorf("caps %v: %d findings, want %d:\n%s\nwant\n%s", keyCaps, len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
