package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/registers"
)

// pathHistory is a random history of registers, as JSON lines.
func pathHistory(rng *rand.Rand) string {
	opt := oracle.Options{
		Min: 3, Max: 4 + rng.IntN(30), Keys: 1 + rng.IntN(8), Sessions: rng.IntN(5), Registers: true,
		Aborted: 0.05, Blind: rng.Float64(), Corrupt: 0.2,
	}
	if rng.IntN(8) == 0 {
		opt.Unknown, opt.Repeat = 0.05, 0.05
	}
	h := oracle.Random(rng, opt)
	if rng.IntN(8) == 0 {
		rng.Shuffle(len(h), func(a, b int) { h[a], h[b] = h[b], h[a] })
	}
	var text []byte
	for i := range h {
		text = append(workload.AppendJSON(text, &h[i]), '\n')
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
const pathHistories = 600

// TestPaths: a report does not depend on which levels were decided at once.
func TestPaths(t *testing.T) {
	all, some, none := 0, 0, 0
	for i := range pathHistories {
		rng := rand.New(rand.NewPCG(uint64(i), 17))
		text := pathHistory(rng)
		w := whole()
		pathLevels(rng, w)
		got := checkText(t, w, text)
		w.Stdin = strings.NewReader(text)
		in, err := openRecording("-", w.Stdin, history.JSONL)
		if err != nil {
			t.Fatal(err)
		}
		want, err := w.throughMachines("-", in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if what := differs(got, want); what != "" {
			t.Fatalf("history %d at %v: %s\n%s", i, isolation.LevelNames(w.Watch.Levels), what, text)
		}
		in, _ = openRecording("-", strings.NewReader(text), history.JSONL)
		_, holding, err := w.decideAtOnce(in, "-")
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
	if all < 20 || some < 200 || none < 50 {
		t.Errorf("%d histories decided at once, %d in part, %d not: too few of one to tell", all, some, none)
	}
}
