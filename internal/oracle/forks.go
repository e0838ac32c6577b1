package oracle

import (
	"fmt"
	"math/rand/v2"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// forks is a store whose transactions need not agree on what came first. Each sees some of the
// earlier ones, with all that these came after: by what they saw, or by every dependency where the
// store is serial for those that write.
type forks struct {
	rng    *rand.Rand
	serial bool // those that write see all that wrote before
	stray  float64
	txns   History
	behind [][]bool // by transaction: those that it came after
	value  []map[string]int64
}

// Forks is a history of n transactions over a few registers, each read before it is written. It is of
// a store with parallel snapshot isolation, or one that is serial for those that write. With the
// chance of stray a transaction misses one whose effects it saw.
func Forks(rng *rand.Rand, n int, serial bool, stray float64) History {
	f := forks{rng: rng, serial: serial, stray: stray}
	seq, over := map[string]int64{}, map[string]int64{}
	for i := range n {
		t := workload.Txn{ID: fmt.Sprintf("T%d", i+1), Status: event.Committed, Start: int64(1 + i*10 - min(i*10, rng.IntN(40))), End: int64(12 + i*10 + rng.IntN(9))}
		if s := fmt.Sprintf("s%d", rng.IntN(3)); over[s] <= t.Start {
			seq[s]++
			t.Session, t.Seq, over[s] = s, seq[s], t.End
		}
		f.run(&t)
	}
	for i := range f.txns {
		f.txns[i].Start, f.txns[i].End = f.txns[i].Start*1e6, f.txns[i].End*1e6
	}
	return f.txns
}

// run adds t, with its operations.
func (f *forks) run(t *workload.Txn) {
	keys := []string{"x0", "x1", "x2"}
	f.rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	writes := keys[:f.rng.IntN(2)]
	reads := keys[:2-len(writes)+f.rng.IntN(2)]
	n := len(f.txns)
	sees := make([]bool, n)
	for j := range sees {
		sees[j] = f.serial && len(writes) > 0 && len(f.value[j]) > 0 || f.rng.IntN(2) == 0
		for _, key := range writes {
			_, wrote := f.value[j][key]
			sees[j] = sees[j] || wrote
		}
	}
	f.closeOver(sees)
	if n > 0 && f.rng.Float64() < f.stray {
		sees[f.rng.IntN(n)] = false
	}
	wrote := map[string]int64{}
	for k, key := range reads {
		if v := f.latest(sees, key); v == 0 {
			t.Ops = append(t.Ops, workload.ReadAbsent(key))
		} else {
			t.Ops = append(t.Ops, workload.Read(key, v))
		}
		if k < len(writes) {
			wrote[key] = int64(100*(k+1) + n + 1)
			t.Ops = append(t.Ops, workload.Write(key, wrote[key]))
		}
	}
	f.txns, f.value, f.behind = append(f.txns, *t), append(f.value, wrote), append(f.behind, sees)
	if f.serial {
		f.dependencies()
	}
}

// closeOver adds what the seen ones came after.
func (f *forks) closeOver(sees []bool) {
	for j := len(sees) - 1; j >= 0; j-- {
		if sees[j] {
			for k, before := range f.behind[j] {
				sees[k] = sees[k] || before
			}
		}
	}
}

// dependencies let the latest transaction come after all that it depends on in the serial order: those
// that wrote, and did or read something in its keys.
func (f *forks) dependencies() {
	n := len(f.txns) - 1
	behind := make([]bool, n)
	for j := range n {
		for _, o := range f.txns[j].Ops {
			_, wrote := f.value[n][o.Key]
			_, before := f.value[j][o.Key]
			touched := false
			for _, p := range f.txns[n].Ops {
				touched = touched || p.Key == o.Key
			}
			behind[j] = behind[j] || len(f.value[j]) > 0 && len(f.value[n]) > 0 && (wrote || before && touched)
		}
	}
	f.closeOver(behind)
	f.behind[n] = behind
}

// latest returns what the last of the seen ones that wrote the key left there, 0 for nothing.
func (f *forks) latest(sees []bool, key string) (v int64) {
	for j, seen := range sees {
		if w, wrote := f.value[j][key]; seen && wrote {
			v = w
		}
	}
	return v
}
