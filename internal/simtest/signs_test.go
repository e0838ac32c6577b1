package simtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// TestSigns: which key patterns repeat is what the definition says of the whole history, in
// any order of arrival, and no finding has an edge about a value that names no writer.
func TestSigns(t *testing.T) {
	t.Parallel()
	repeat, silent, edges := 0, 0, 0
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 83))
		h := applied(rng)
		drift := time.Duration(rng.IntN(3)) * 20 * time.Millisecond
		signs := oracle.SignsOf(h, int64(drift))
		cfg := exact()
		cfg.Contract = window.Contract{Observed: true, UnmonitoredWriters: true, Existing: true, DeletesUnseen: true, ClockDrift: drift}
		m, found, err := run(cfg, batchOf(t, h, rng.Perm(len(h))), i%16 == 0)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, r := range m.Repeating() {
			got[r.Pattern] = true
		}
		for p := range signs.Perhaps {
			if got[p] {
				signs.Repeats[p] = true
			}
		}
		if !maps.Equal(got, signs.Repeats) {
			t.Fatalf("history %d, drift %v: %v repeat, want %v\n%s", i, drift, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(signs.Repeats)), h.Text())
		}
		repeat += len(got)
		if len(got) == 0 {
			silent++
		}
		for _, v := range told(found) {
			if edges++; !signs.Names(v.Value) || signs.Unsure[v] {
				t.Fatalf("history %d, drift %v: a finding has an edge about %s = %d, which names no writer\n%s%s", i, drift, v.Key, v.Value.Value, h.Text(), lines(found))
			}
		}
	}
	t.Logf("%d patterns repeat, none in %d histories; %d edges of findings", repeat, silent, edges)
	if enough(t, 3000) && (repeat == 0 || silent == 0 || edges == 0) {
		t.Error("not all of it was seen")
	}
}

// told are the reads that findings that stand rest on.
func told(found []finding.Finding) (all []oracle.Saw) {
	latest := map[string]finding.Finding{}
	for _, f := range found {
		latest[f.ID] = f
	}
	for _, id := range slices.Sorted(maps.Keys(latest)) {
		f := latest[id]
		if f.State == finding.Withdrawn {
			continue
		}
		for _, e := range f.Edges {
			if v, err := strconv.ParseInt(e.Value, 10, 64); err == nil && strings.HasPrefix(e.Type, "wr") {
				all = append(all, oracle.Saw{Reader: e.To, Value: oracle.Value{Key: e.Key, Value: v}})
			}
		}
	}
	return all
}

// applied returns what an application did to a few keys: stock, which counts down and is filled up,
// and marks, which are mostly new; with reads that are late, clocks apart, deletes, and what
// aborted, or nobody knows, tried again.
func applied(rng *rand.Rand) oracle.History {
	keys := []string{"stock/1", "stock/2", "mark:1", "mark:2"}
	now := map[string][]int64{} // latest values; 0: nothing
	for _, k := range keys {
		now[k] = []int64{0}
	}
	next := int64(100)
	skew := [4]int64{}
	for i := range skew {
		skew[i] = int64(rng.IntN(3)) * 15 * ms
	}
	repeats := rng.IntN(3) == 0
	seq := [4]int64{}
	var h oracle.History
	at := int64(epoch)
	for i := range 4 + rng.IntN(10) {
		client := rng.IntN(4)
		seq[client]++
		at += int64(rng.IntN(40)) * ms
		t := workload.Txn{ID: fmt.Sprintf("T%d", i), Status: event.Committed, Start: at + skew[client], End: at + skew[client] + int64(1+rng.IntN(30))*ms}
		if rng.IntN(2) == 0 {
			t.Session, t.Seq = fmt.Sprintf("s%d", client), seq[client]
		}
		for range 1 + rng.IntN(3) {
			k := keys[rng.IntN(len(keys))]
			old := now[k]
			seen := old[max(0, len(old)-1-rng.IntN(2)*rng.IntN(3))]
			if rng.IntN(5) > 0 && !slices.ContainsFunc(t.Ops, func(o workload.Op) bool { return o.Key == k }) {
				if seen == 0 {
					t.Ops = append(t.Ops, workload.ReadAbsent(k))
				} else {
					t.Ops = append(t.Ops, workload.Read(k, seen))
				}
			}
			switch x := rng.IntN(10); {
			case x == 0:
				t.Ops = append(t.Ops, workload.Op{Kind: event.Delete, Key: k})
				now[k] = append(now[k], 0)
			case x < 6:
				next++
				v := next
				if repeats && k[0] == 's' {
					v = int64(1 + rng.IntN(4))
				}
				t.Ops = append(t.Ops, workload.Write(k, v))
				now[k] = append(now[k], v)
			}
		}
		if x := rng.IntN(8); x < 2 && len(t.Ops) > 0 {
			again := t.Clone()
			t.Status = [2]event.Status{event.Aborted, event.Unknown}[x]
			at += int64(rng.IntN(10)) * ms
			again.ID, again.Start, again.End = t.ID+"again", t.End+ms, t.End+2*ms
			if again.Session != "" {
				seq[client]++
				again.Seq = seq[client]
			}
			h = append(h, again)
		}
		h = append(h, t)
	}
	return h
}
