package workload

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
)

func generate(tb testing.TB, cfg Config, seed uint64, n int) []Txn {
	tb.Helper()
	g, err := NewGenerator(cfg, rand.New(rand.NewPCG(seed, 1)))
	if err != nil {
		tb.Fatal(err)
	}
	txns := make([]Txn, n)
	for i := range txns {
		txns[i], _ = g.Next()
	}
	return txns
}

func TestGeneratorIsDeterministic(t *testing.T) {
	cfg := Config{Kind: Lists, Isolation: SnapshotIsolation, Keys: 5, Zipf: 1.2, Aborted: 0.1, Unknown: 0.1, PlantEvery: 50}
	a, b := generate(t, cfg, 7, 2000), generate(t, cfg, 7, 2000)
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed gave different transactions")
	}
	if reflect.DeepEqual(a, generate(t, cfg, 8, 2000)) {
		t.Error("another seed gave the same transactions")
	}
}

// TestGeneratorShares checks that the stream has what its configuration asks
// for, within 3 standard deviations of the binomial.
func TestGeneratorShares(t *testing.T) {
	const n = 20_000
	txns := generate(t, Config{Aborted: 0.02, Unknown: 0.03, Keys: 1_000_000, WriteRatio: 0.5}, 3, n)
	count := map[event.Status]int{}
	reads, writes := 0, 0
	for _, txn := range txns {
		count[txn.Status]++
		if len(txn.Ops) != 4 {
			t.Fatalf("%s has %d operations, want 4", txn.Text(), len(txn.Ops))
		}
		for _, o := range txn.Ops {
			if o.Kind == event.Read {
				reads++
			} else {
				writes++
			}
		}
	}
	if c := count[event.Aborted]; c < 340 || c > 460 {
		t.Errorf("%d aborted of %d, want about 400", c, n)
	}
	if c := count[event.Unknown]; c < 528 || c > 672 {
		t.Errorf("%d unknown of %d, want about 600", c, n)
	}
	// Half of the reads are followed by a write, but for one in the last place.
	if ratio := float64(writes) / float64(reads); ratio < 0.38 || ratio > 0.5 {
		t.Errorf("%d writes to %d reads, want a ratio a little under 0.5", writes, reads)
	}
}

// TestGeneratorRegistersReadBeforeWrite checks MTC's definition 8, second point.
func TestGeneratorRegistersReadBeforeWrite(t *testing.T) {
	written := map[int64]bool{}
	for _, txn := range generate(t, Config{Keys: 4, Ops: 8, WriteRatio: 0.7, PlantEvery: 10}, 4, 3000) {
		read := map[string]bool{}
		for _, o := range txn.Ops {
			if o.Kind == event.Read {
				read[o.Key] = true
				continue
			}
			if !read[o.Key] {
				t.Fatalf("%s writes %s without having read it", txn.Text(), o.Key)
			}
			if written[o.Value] {
				t.Fatalf("%s writes %d a second time", txn.Text(), o.Value)
			}
			written[o.Value] = true
		}
	}
	if len(written) < 1000 {
		t.Errorf("only %d writes", len(written))
	}
}

func TestGeneratorSessionsAreSequential(t *testing.T) {
	for _, iso := range []Isolation{Serializable, SnapshotIsolation} {
		type last struct{ seq, end int64 }
		ends := map[string]last{}
		overlapping := 0
		var latest int64
		txns := generate(t, Config{Isolation: iso, Sessions: 8, Unknown: 0.2, PlantEvery: 100}, 5, 4000)
		bySeq := map[string]map[int64]Txn{}
		for _, txn := range txns {
			if bySeq[txn.Session] == nil {
				bySeq[txn.Session] = map[int64]Txn{}
			}
			bySeq[txn.Session][txn.Seq] = txn
			if txn.Start >= txn.End {
				t.Fatalf("%s does not end after its start", txn.Text())
			}
			if txn.Start < latest {
				overlapping++
			}
			latest = max(latest, txn.End)
		}
		for name, members := range bySeq {
			for seq := int64(1); members[seq].ID != ""; seq++ {
				txn := members[seq]
				if txn.Start <= ends[name].end {
					t.Fatalf("%s starts before its session's previous transaction ended at %d", txn.Text(), ends[name].end)
				}
				ends[name] = last{seq, txn.End}
			}
		}
		if overlapping < len(txns)/2 {
			t.Errorf("only %d of %d transactions overlap an earlier one", overlapping, len(txns))
		}
	}
}

func TestGeneratorRetiresLists(t *testing.T) {
	longest, renewed := 0, false
	for _, txn := range generate(t, Config{Kind: Lists, Keys: 2, ListLength: 5, WriteRatio: 0.5, Sessions: 4}, 6, 2000) {
		for _, o := range txn.Ops {
			longest = max(longest, len(o.List))
			renewed = renewed || strings.Contains(o.Key, ".")
		}
	}
	// Beyond the length come the appends of transactions that chose the key
	// before it was full: at most one's own four.
	if longest < 5 || longest > 9 || !renewed {
		t.Errorf("longest list read has %d elements and renewed is %v, want 5 to 9 and true", longest, renewed)
	}
}

func TestGeneratorSerializableReplaysInOrder(t *testing.T) {
	// Without unknown outcomes the stream is the serial order itself.
	state := map[string]int64{}
	for _, txn := range generate(t, Config{Keys: 20, Ops: 6, WriteRatio: 0.5, Aborted: 0.1}, 9, 5000) {
		local := map[string]int64{}
		for _, o := range txn.Ops {
			now, own := local[o.Key]
			if !own {
				now = state[o.Key]
			}
			if o.Kind == event.Write {
				local[o.Key] = o.Value
			} else if o.Absent != (now == 0) || o.Value != now {
				t.Fatalf("%s: read of %s where the store held %d", txn.Text(), o.Key, now)
			}
		}
		if txn.Status == event.Committed {
			for k, v := range local {
				state[k] = v
			}
		}
	}
}

func TestPlantedGroupsAreWhole(t *testing.T) {
	for _, kind := range []Kind{Registers, Lists} {
		g, err := NewGenerator(Config{Kind: kind, PlantEvery: 20}, rand.New(rand.NewPCG(1, 2)))
		if err != nil {
			t.Fatal(err)
		}
		users := map[string]map[string]bool{} // key -> ids
		seen := map[string]bool{}
		for range 1000 {
			txn, _ := g.Next()
			if seen[txn.ID] {
				t.Fatalf("id %s twice", txn.ID)
			}
			seen[txn.ID] = true
			for _, o := range txn.Ops {
				if users[o.Key] == nil {
					users[o.Key] = map[string]bool{}
				}
				users[o.Key][txn.ID] = true
			}
		}
		names := map[string]bool{}
		for _, p := range g.Planted()[:40] {
			names[p.Name] = true
			group := map[string]bool{}
			for _, id := range p.Txns {
				group[id] = true
				if !seen[id] {
					t.Errorf("%s: transaction %s was never yielded", p.Name, id)
				}
			}
			for _, key := range p.Keys {
				for id := range users[key] {
					if !group[id] {
						t.Errorf("%s: key %s is used by %s from outside", p.Name, key, id)
					}
				}
			}
		}
		if len(names) != len(Anomalies(kind)) {
			t.Errorf("planted %d names, want all %d", len(names), len(Anomalies(kind)))
		}
	}
}

func TestPlantGroupErrors(t *testing.T) {
	if _, _, err := PlantGroup(Registers, "dirty-update", "p", 0, 0, 8); err == nil || !strings.Contains(err.Error(), "lost-update") {
		t.Errorf("error is %v, want one that lists what can be planted", err)
	}
}

func TestArrivalsKeepWithinTheLateness(t *testing.T) {
	for _, lateness := range []time.Duration{0, 50 * time.Microsecond, 5 * time.Millisecond} {
		rng := rand.New(rand.NewPCG(5, 6))
		g, err := NewGenerator(Config{Isolation: SnapshotIsolation, Unknown: 0.2, PlantEvery: 30}, rng)
		if err != nil {
			t.Fatal(err)
		}
		a := NewArrivals(g, lateness, rng)
		var latest, worst int64
		seen := map[string]bool{}
		for range 5000 {
			txn, _ := a.Next()
			if seen[txn.ID] {
				t.Fatalf("%s arrives twice", txn.ID)
			}
			seen[txn.ID] = true
			latest = max(latest, txn.End)
			worst = max(worst, latest-txn.End)
		}
		if worst > int64(lateness) {
			t.Errorf("lateness %v: one arrived %v late", lateness, time.Duration(worst))
		}
		if worst < int64(lateness)/2 {
			t.Errorf("lateness %v: the worst disorder is only %v", lateness, time.Duration(worst))
		}
	}
}

func TestCountEndsTheStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	g, err := NewGenerator(Config{Kind: Lists, Isolation: SnapshotIsolation, Keys: 10, Count: 500, PlantEvery: 100, Plant: []string{"write-skew"}}, rng)
	if err != nil {
		t.Fatal(err)
	}
	a := NewArrivals(g, time.Millisecond, rng)
	n := 0
	appended, read := map[int64]bool{}, map[int64]bool{}
	for txn, ok := a.Next(); ok; txn, ok = a.Next() {
		n++
		for _, o := range txn.Ops {
			if o.Kind == event.Append {
				appended[o.Value] = true
			}
			for _, e := range o.List {
				read[e] = true
			}
		}
	}
	if n != 500+5*2 {
		t.Errorf("%d transactions, want 500 and 5 planted pairs", n)
	}
	for e := range read {
		if !appended[e] {
			t.Errorf("element %d was read, its append is missing", e)
		}
	}
	if _, ok := a.Next(); ok {
		t.Error("one more after the end")
	}
}

func TestConfigErrorsListAllFaults(t *testing.T) {
	_, err := NewGenerator(Config{
		Kind: 7, Isolation: 9, Count: -5, Sessions: -1, Keys: -2, Ops: -3, ListLength: -4, Zipf: 0.5, WriteRatio: 2,
		Aborted: 0.6, Unknown: 0.6, Busy: 1, Interval: -1, PlantEvery: -1, Plant: []string{"gremlins"},
	}, rand.New(rand.NewPCG(1, 1)))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"kind 7", "isolation 9", "count -5", "sessions -1", "keys -2", "ops -3", "list length -4", "zipf 0.5",
		"write ratio 2", "aborted 0.6", "busy 1", "interval -1ns", "plant every -1", `"gremlins"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not name %s:\n%v", want, err)
		}
	}
}

func BenchmarkGenerator(b *testing.B) {
	for name, cfg := range map[string]Config{
		"registers/serializable": {},
		"lists/serializable":     {Kind: Lists},
		"registers/snapshot":     {Isolation: SnapshotIsolation, Zipf: 1.1},
	} {
		b.Run(name, func(b *testing.B) {
			g, err := NewGenerator(cfg, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				g.Next()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "txn/s")
		})
	}
}
