package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// crowded are n transactions of two sources, one a millisecond, with four keys each that no other one has. Every
// 50th reads what the one 702 before it overwrote in place of what it wrote: a dependency on a transaction that
// left memory early. Every 60th reads what an aborted one wrote just before.
func crowded(n int) (ms []ingest.Message) {
	for i := range n {
		at := awayEpoch + int64(i)*int64(time.Millisecond)
		status, ops := "committed", fmt.Sprintf(`{"op":"w","key":"k%d","value":1},{"op":"w","key":"l%d","value":1},{"op":"w","key":"m%d","value":1},{"op":"w","key":"n%d","value":1}`, i, i, i, i)
		switch {
		case i%60 == 58:
			status = "aborted"
		case i%60 == 0 && i > 0:
			ops = fmt.Sprintf(`{"op":"r","key":"k%d","value":1}`, i-2)
		case i%50 == 0 && i > 700:
			ops = fmt.Sprintf(`{"op":"r","key":"k%d","found":false}`, i-702)
		}
		ms = append(ms, ingest.Message{Offset: int64(i), Value: fmt.Appendf(nil,
			`{"txn":"t%d","source":"%s","session":"s%d","seq":%d,"start":%d,"end":%d,"status":"%s","ops":[%s]}`,
			i, []string{"a", "b"}[i%2], i%8, i/8, at-1, at, status, ops)})
	}
	return ms
}

// TestMemory: with so little memory that transactions freeze early, what is kept stays within it. What was
// aborted and read is found all the same, and lives that end anywhere, with snapshots, find what one life does.
func TestMemory(t *testing.T) {
	const state = 3 << 20
	ms := crowded(testrun.Size(3_500, 8_000))
	run := func(ms []ingest.Message, bound func(engine.Held) (state, open int64), cuts ...int) (findings []string, last *engine.Status) {
		st, err := store.Open(t.TempDir(), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		last = lives(t, st, ms, func(int) engine.Options {
			return engine.Options{
				Configure: func(string) window.Config {
					return window.Config{KeyCap: 100_000, Window: window.For(time.Hour), Lateness: window.For(0), Contract: window.Contract{Complete: true}}
				},
				StepBytes: 1, SnapshotBytes: 1 << 19, State: state, Bound: bound,
			}
		}, cuts)
		return findingsIn(t, st), last
	}
	want, s := run(ms, nil)
	taken := int64(0)
	for _, x := range s.Sources {
		if x.Counters.Squeezed == 0 {
			t.Errorf("source %s: nothing froze for want of memory", x.Source)
		}
		taken += x.Memory
	}
	if taken > state*5/4 {
		t.Errorf("%d bytes of state, at most %d are given", taken, state)
	}
	all := strings.Join(want, "\n")
	if n, planted := strings.Count(all, `"anomaly":"G1a"`), (len(ms)-1)/60; n != planted {
		t.Errorf("%d reads of aborted data are found, want %d", n, planted)
	}
	if !strings.Contains(all, `"kind":"horizon"`) || !strings.Contains(all, "--memory") {
		t.Errorf("no horizon finding tells that memory was short: %d are told", strings.Count(all, `"kind":"horizon"`))
	}
	restarted := func(want, got []string) {
		t.Helper()
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("after restarts, finding %d is\n%s\nwant\n%s", i, got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d findings after restarts, want %d", len(got), len(want))
		}
	}
	got, _ := run(ms, nil, 1, 1777, len(ms)*5/8, len(ms)*5/8+1, len(ms)*15/16)
	restarted(want, got)

	// Other engines take some of it at times. What this engine may take is in the steps.
	shared := func(h engine.Held) (_, open int64) { return state/2 + h.Used%97*state/200, 1 << 20 }
	wantShared, s := run(ms[:3000], shared)
	if s.Sources[0].MemoryCap > state/2+state/8 {
		t.Errorf("source %s may take %d bytes, of less than %d", s.Sources[0].Source, s.Sources[0].MemoryCap, state)
	}
	if s.Sources[0].Counters.Squeezed == 0 {
		t.Error("nothing froze for want of memory")
	}
	got, _ = run(ms[:3000], shared, 1, 1777, 2500)
	restarted(wantShared, got)
}
