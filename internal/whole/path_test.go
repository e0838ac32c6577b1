package whole

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/registers"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// pathHistory is a random history of registers, as JSON lines.
func pathHistory(rng *rand.Rand) string {
	opt := oracle.Options{
		Min: 3, Max: 4 + rng.IntN(30), Keys: 1 + rng.IntN(8), Sessions: rng.IntN(5), Registers: true,
		Aborted: 0.05, Blind: rng.Float64(), Corrupt: 0.2,
	}
	if rng.IntN(3) == 0 {
		opt.Lists, opt.Registers = true, rng.IntN(2) == 0
	}
	if rng.IntN(8) == 0 {
		opt.Unknown, opt.Repeat = 0.1, 0.05*float64(rng.IntN(2))
	}
	h := oracle.Random(rng, opt)
	if rng.IntN(8) == 0 {
		rng.Shuffle(len(h), func(a, b int) { h[a], h[b] = h[b], h[a] })
	}
	var text []byte
	for i := range h {
		text = append(workload.AppendJSON(text, &h[i]), '\n')
	}
	if rng.IntN(6) == 0 {
		text = regexp.MustCompile(`"seq":\d+,`).ReplaceAll(text, nil)
	}
	if rng.IntN(20) == 0 {
		text = append(text, text[:bytes.IndexByte(text, '\n')+1]...) // the first one twice
	}
	return string(text)
}

// pathLevels are all levels that the records can decide, or some by name.
func pathLevels(rng *rand.Rand, w *Whole) {
	w.Watch.Levels = isolation.Encoded()
	if rng.IntN(3) == 0 {
		return
	}
	w.Watch.Named = true
	rng.Shuffle(len(w.Watch.Levels), func(a, b int) {
		w.Watch.Levels[a], w.Watch.Levels[b] = w.Watch.Levels[b], w.Watch.Levels[a]
	})
	if rng.IntN(2) == 0 {
		w.Watch.Levels = slices.DeleteFunc(w.Watch.Levels, func(l isolation.Level) bool { return !registers.Decidable(l) })
	}
	w.Watch.Levels = w.Watch.Levels[:1+rng.IntN(6)]
}

// differs says in what two reports do, "" if in nothing.
func differs(a, b *Report) string {
	if len(a.Findings) != len(b.Findings) {
		return fmt.Sprintf("%d findings and %d", len(a.Findings), len(b.Findings))
	}
	for i := range a.Findings {
		x, _ := json.Marshal(a.Findings[i])
		y, _ := json.Marshal(b.Findings[i])
		if !bytes.Equal(x, y) {
			return fmt.Sprintf("finding %d:\n%s\n%s", i, x, y)
		}
	}
	x, y := *a, *b
	x.Findings, y.Findings = nil, nil
	if !reflect.DeepEqual(x, y) {
		return fmt.Sprintf("\n%+v\n%+v", x, y)
	}
	return ""
}

// pathHistories are enough to meet each way and both ways in part.
const pathHistories = 1200

// TestPaths: a report does not depend on which levels were decided at once.
func TestPaths(t *testing.T) {
	all, some, none := 0, 0, 0
	for i := range testrun.Count(pathHistories) {
		rng := rand.New(rand.NewPCG(uint64(i), 17))
		text := pathHistory(rng)
		w := whole()
		pathLevels(rng, w)
		got := checkText(t, w, text)
		w.Stdin = strings.NewReader(text)
		in, err := OpenRecording("-", w.Stdin, history.JSONL)
		if err != nil {
			t.Fatal(err)
		}
		want, err := w.throughMachines("-", in, nil, nil, window.Expected{})
		if err != nil {
			t.Fatal(err)
		}
		got.Panes, want.Panes = nil, nil // verdicts over time are of levels that were not decided at once
		got.reads, want.reads = 0, 0     // no graph, no reads; they are told of unknown verdicts only
		if what := differs(got, want); what != "" {
			t.Fatalf("history %d at %v: %s\n%s", i, isolation.LevelNames(w.Watch.Levels), what, text)
		}
		in, _ = OpenRecording("-", strings.NewReader(text), history.JSONL)
		_, holding, _, err := w.decideAtOnce(in, "-")
		switch {
		case err != nil:
			t.Fatal(err)
		case len(holding) == len(w.Watch.Levels):
			all++
		case len(holding) > 0:
			some++
		default:
			none++
		}
	}
	t.Logf("%d histories decided at once, %d in part, %d not", all, some, none)
	if all < testrun.Least(20) || some < testrun.Least(200) || none < testrun.Least(50) {
		t.Errorf("%d histories decided at once, %d in part, %d not: too few of one to tell", all, some, none)
	}
}

// strongHistory is a few transactions that write unique values and read any that another
// one wrote, each key once, some beside each other.
func strongHistory(rng *rand.Rand) oracle.History {
	keys, h := []string{"x", "y", "z"}, make(oracle.History, 3+rng.IntN(5))
	written := map[string][]int64{}
	by := map[int64]int{}
	for i := range h {
		start := int64(10*i) - rng.Int64N(40)
		h[i] = workload.Txn{ID: fmt.Sprint("T", i+1), Status: event.Committed, Start: 1000 + start, End: 1001 + start + rng.Int64N(40)}
		for k, key := range keys[:2] {
			if rng.IntN(3) == 0 {
				v := int64(10*(i+1) + k)
				written[key], by[v] = append(written[key], v), i
				h[i].Ops = append(h[i].Ops, workload.Write(key, v))
			}
		}
	}
	for i := range h {
		var reads []workload.Op
		for _, key := range keys {
			if rng.IntN(2) == 0 || slices.ContainsFunc(h[i].Ops, func(o workload.Op) bool { return o.Key == key }) {
				continue
			}
			o := workload.ReadAbsent(key)
			for _, v := range written[key] {
				if (by[v] < i || rng.IntN(8) == 0) && rng.IntN(3) > 0 {
					o = workload.Read(key, v)
				}
			}
			reads = append(reads, o)
		}
		h[i].Ops = append(reads, h[i].Ops...)
	}
	return h
}

// TestStrongAtOnce: of histories of registers with times, the strong levels that no order
// of the machine decides are ok exactly where the oracle finds nothing against them.
func TestStrongAtOnce(t *testing.T) {
	count := map[string]int{}
	for i := range 1000 {
		rng := rand.New(rand.NewPCG(uint64(i), 19))
		h := strongHistory(rng)
		var text []byte
		for k := range h {
			text = append(workload.AppendJSON(text, &h[k]), '\n')
		}
		w := whole()
		w.Watch.Named = true
		w.Watch.Levels, _ = isolation.ParseLevels("strong-read-atomic,strong-causal,strong-prefix")
		got, against := checkText(t, w, string(text)), oracle.Dependencies(h).Forces()
		for _, name := range []string{"strong-read-atomic", "strong-causal"} {
			if v := got.Verdicts[name]; (v == window.OK) == against[oracle.Level(name)] {
				t.Fatalf("history %d: %s is %s, the oracle has a contradiction: %v\n%s", i, name, v, !(v == window.OK), h.Text())
			}
			count[name+" "+got.Verdicts[name]+", strong-prefix "+got.Verdicts["strong-prefix"]]++
		}
	}
	t.Log(count)
	for _, name := range []string{"strong-read-atomic", "strong-causal"} {
		if count[name+" ok, strong-prefix violated"] < 1 || count[name+" violated, strong-prefix violated"]+count[name+" unknown, strong-prefix violated"] < 100 {
			t.Errorf("too few of one: %v", count)
		}
	}
}
