//go:build integration

package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/workload"
)

const (
	// trafficInterval is the event time between two transactions of a source. A
	// window of 60 s then holds 2,000 of them, so that most of a run has retired.
	trafficInterval = 30 * time.Millisecond
	// trafficKeys are few, so that the writes of unknown transactions are seen
	// within the window, if ever: later they would be horizon findings.
	trafficKeys = 100
	// trafficDisorder is below the lateness: nothing comes too late.
	trafficDisorder = 2 * time.Second
	// trafficPlant is how many transactions of a source lie between two anomalies.
	trafficPlant = 500
	// trafficTail transactions follow the last anomaly: their 15 s of event time
	// carry the watermark past it.
	trafficTail = 499
	// trafficAge is how long ago the first transaction was: not so long that retention
	// removes its pane (90 days), nor so short that a soak overtakes the clock.
	trafficAge = 60 * 24 * time.Hour
	// trafficPadding is the longest name. 4 KB on average make some 180 MB of ten
	// kills' records, so that snapshots, one every 64 MiB, fall into a run.
	trafficPadding = 8000
)

// traffic is two sources, one of lists and one of registers, whose records come
// mixed. The same seed and count give the same records.
type traffic struct {
	all     []*feed
	feeds   []*feed // those of all that have not ended
	rng     *rand.Rand
	padding string // the longest name
	plant   int    // transactions of a source between two anomalies
	// forgets is after how many transactions of a source the values of retired ones may
	// be forgotten, so that nobody can tell that nobody wrote a value. 0: never.
	forgets   int
	start     int64 // event time, ns
	published int
}

type feed struct {
	name     string
	gen      *workload.Generator
	arrivals *workload.Arrivals
}

// newTraffic has about count transactions, an anomaly every trafficPlant of each
// source.
func newTraffic(t *testing.T, seed uint64, count int) *traffic {
	t.Helper()
	x := &traffic{rng: rand.New(rand.NewPCG(seed, 1)), padding: strings.Repeat("n", trafficPadding), plant: trafficPlant}
	each := count / 2 / trafficPlant * trafficPlant
	for i, kind := range []workload.Kind{workload.Lists, workload.Registers} {
		x.feed(t, seed, i, workload.Config{
			Kind: kind, Count: each + trafficTail, Sessions: 16, Keys: trafficKeys,
			Aborted: 0.02, Unknown: 0.02, Interval: trafficInterval, PlantEvery: trafficPlant,
		})
	}
	return x
}

// feed adds a source.
func (x *traffic) feed(t *testing.T, seed uint64, i int, c workload.Config) {
	t.Helper()
	f := &feed{name: []string{"lists", "registers"}[i]}
	c.Source = f.name
	if x.start == 0 {
		x.start = time.Now().Add(-trafficAge).Truncate(time.Hour).UnixNano()
	}
	c.Start = x.start
	rng := rand.New(rand.NewPCG(seed, uint64(2+i)))
	gen, err := workload.NewGenerator(c, rng)
	if err != nil {
		t.Fatal(err)
	}
	f.gen, f.arrivals = gen, workload.NewArrivals(gen, trafficDisorder, rng)
	x.all = append(x.all, f)
	x.feeds = slices.Clone(x.all)
}

// next is at most n records as lines, none at the end.
func (x *traffic) next(n int) [][]byte {
	var lines [][]byte
	for len(lines) < n && len(x.feeds) > 0 {
		i := x.rng.IntN(len(x.feeds))
		txn, ok := x.feeds[i].arrivals.Next()
		if !ok {
			x.feeds = slices.Delete(x.feeds, i, i+1)
			continue
		}
		if len(x.padding) > 0 {
			txn.Name = x.padding[:x.rng.IntN(len(x.padding))]
		}
		lines = append(lines, append(workload.AppendJSON(nil, &txn), '\n'))
	}
	x.published += len(lines)
	return lines
}

// compare wants, for each planted group, findings that stay within it, one of
// them under the anomaly's name, and no other findings.
func (x *traffic) compare(t *testing.T, findings []finding.Finding) {
	t.Helper()
	type group struct{ source, prefix string }
	found := map[group][]string{}
	for i := range findings {
		f := &findings[i]
		prefix := plantedPrefix(f.Txns)
		if prefix == "" || f.State == finding.Withdrawn {
			t.Errorf("nothing planted: %s, %s %s of %s", f.Source, f.State, f.Anomaly, strings.Join(f.Txns, " "))
		}
		g := group{f.Source, prefix}
		found[g] = append(found[g], f.Anomaly)
	}
	planted := 0
	for _, feed := range x.all {
		for i, p := range feed.gen.Planted() {
			planted++
			names := found[group{feed.name, plantedPrefix(p.Txns)}]
			forgot := x.forgets > 0 && i*x.plant >= x.forgets && p.Anomaly == "garbage-read" && slices.Contains(names, "unattributed-read")
			if !slices.Contains(names, p.Anomaly) && !forgot {
				t.Errorf("planted in %s and not found: %s, %s of %s; found there: %v", feed.name, p.Name, p.Anomaly, strings.Join(p.Txns, " "), names)
			}
		}
	}
	if planted*x.plant < x.published*98/100-2*x.plant || planted == 0 { // planted ones are among the published
		t.Errorf("only %d anomalies planted among %d transactions", planted, x.published)
	}
}
