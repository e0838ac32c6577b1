//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// growths are histories whose cost a record grew with their size. at is the least size: the others
// are ten and a hundred times as large.
var growths = []struct {
	name string
	at   int
	args []string
	make func(n int) []workload.Txn
}{
	{"partitions", 4000, []string{"--window", "24h", "--lateness", "24h"}, func(n int) []workload.Txn {
		all := serialHistory(n, 1, 4, 0)
		var late []workload.Txn // one session over four partitions, read one behind the other
		for p := range 4 {
			for i := p; i < n; i += 4 {
				all[i].Seq = 0
				late = append(late, all[i])
			}
		}
		return late
	}},
	{"hot-key", 1000, []string{"--window", "24h"}, func(n int) []workload.Txn {
		return hotHistory(n)
	}},
	{"long-violated", 30, nil, func(n int) []workload.Txn {
		return timeless(serialHistory(n, 24, 120, 8))
	}},
	{"causal", 1000, []string{"--levels", "causal"}, func(n int) []workload.Txn {
		all := timeless(serialHistory(n, n/2, 4, 0))
		for i := range all[n/2].Ops { // one read of what was written first
			if o := &all[n/2].Ops[i]; o.Kind == event.Read && o.Value != 0 {
				o.Value = first[o.Key]
				break
			}
		}
		return all
	}},
	{"wrong-reads", 1000, []string{"--levels", "causal"}, func(n int) []workload.Txn {
		all := timeless(serialHistory(n, 50, 4, 0))
		for i := n / 10; i < n; i += 90 { // one in ninety reads what was written first
			for j := range all[i].Ops {
				if o := &all[i].Ops[j]; o.Kind == event.Read && o.Value != 0 {
					o.Value = first[o.Key]
					break
				}
			}
		}
		return all
	}},
	{"long-list", 1200, nil, func(n int) []workload.Txn {
		all := timeless(blindHistory(n, 0))
		var list []int64
		for i := range all {
			list = append(list, int64(i+1))
			all[i].Ops = []workload.Op{workload.Append("list", int64(i+1))}
			if i%(n/100) == n/100-1 { // a hundred transactions read it whole
				all[i].Ops = append(all[i].Ops, workload.ReadList("list", list...))
			}
		}
		return all
	}},
	{"linearizable", 200, []string{"--levels", "linearizable"}, func(n int) []workload.Txn {
		all := blindHistory(n, 0) // of several clients at a time, on one key for each 200 operations
		left := map[string]int64{}
		for i := range all {
			key := fmt.Sprintf("k%d", i/200)
			switch {
			case left[key] != 0 && i == n/2+60: // one read in the middle is of what nobody has left
				all[i].Ops = []workload.Op{workload.Read(key, left[key]-40)}
			case i%2 == 0 || left[key] == 0:
				left[key] = int64(i + 1)
				all[i].Ops = []workload.Op{workload.Write(key, left[key])}
			default:
				all[i].Ops = []workload.Op{workload.Read(key, left[key])}
			}
		}
		return all
	}},
}

// first has the first value of each key of the latest [serialHistory].
var first = map[string]int64{}

// serialHistory has transactions of nops reads, half of them followed by a write, 1 ms apart. Each
// reads as of up to lag transactions ago, and then writes only what nobody has written since.
func serialHistory(n, sessions, nops, lag int) []workload.Txn {
	const tick = int64(time.Millisecond)
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	all := make([]workload.Txn, n)
	type written struct {
		by    int
		value int64
	}
	left := make([][]written, max(1000, 40*nops))
	seqs := make([]int64, sessions)
	value := int64(0)
	clear(first)
	for i := range all {
		t, s := &all[i], rng.IntN(sessions)
		seqs[s]++
		at := int64(i+1) * tick
		t.ID, t.Status, t.Session, t.Seq = fmt.Sprintf("t%d", i), event.Committed, fmt.Sprintf("s%d", s), seqs[s]
		t.Start, t.End = at-tick/4, at+tick/4
		since := i - rng.IntN(lag+1)
		for _, k := range rng.Perm(len(left))[:nops] {
			key, h := fmt.Sprintf("k%d", k), left[k]
			j := len(h) - 1
			for j >= 0 && h[j].by >= since {
				j--
			}
			if j < 0 {
				t.Ops = append(t.Ops, workload.ReadAbsent(key))
			} else {
				t.Ops = append(t.Ops, workload.Read(key, h[j].value))
			}
			if j == len(h)-1 && rng.IntN(2) == 0 {
				value++
				if len(h) == 0 {
					first[key] = value
				}
				left[k] = append(h, written{i, value})
				t.Ops = append(t.Ops, workload.Write(key, value))
			}
		}
	}
	return all
}

// hotHistory has blind writes and reads of one key.
func hotHistory(n int) []workload.Txn {
	all := blindHistory(n, 0)
	rng := rand.New(rand.NewPCG(7, 7))
	left := int64(0)
	for i := range all {
		switch {
		case rng.IntN(2) == 0:
			left = int64(i + 1)
			all[i].Ops = []workload.Op{workload.Write("hot", left)}
		case left == 0:
			all[i].Ops = []workload.Op{workload.ReadAbsent("hot")}
		default:
			all[i].Ops = []workload.Op{workload.Read("hot", left)}
		}
	}
	return all
}

func timeless(all []workload.Txn) []workload.Txn {
	for i := range all {
		all[i].Start, all[i].End = 0, 0
	}
	return all
}

// BenchmarkGrowth runs monitor check on histories of n, 10n and 100n transactions. It prints the
// CPU time of each, and the exponent of growth between the last two: 1 is a cost a
// transaction that does not grow.
func BenchmarkGrowth(b *testing.B) {
	dir := b.TempDir()
	bin := program(b)
	for _, g := range growths {
		b.Run(g.name, func(b *testing.B) {
			for b.Loop() {
				var last [3]float64
				for i, n := range []int{g.at, 10 * g.at, 100 * g.at} {
					file := filepath.Join(dir, "history.jsonl")
					var text bytes.Buffer
					for _, t := range g.make(n) {
						text.Write(workload.AppendJSON(nil, &t))
						text.WriteByte('\n')
					}
					if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
						b.Fatal(err)
					}
					cmd := exec.Command(bin, append([]string{"check", file}, g.args...)...)
					if _, err := cmd.Output(); cmd.ProcessState.ExitCode() < 0 || cmd.ProcessState.ExitCode() > 2 {
						b.Fatalf("%s, %d: %v", g.name, n, err)
					}
					last[i] = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
					b.Logf("%s: %d transactions, %.2f s of CPU", g.name, n, last[i])
				}
				b.ReportMetric(math.Log10(last[2]/last[1]), "exponent")
			}
		})
	}
}
