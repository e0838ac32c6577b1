package check_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/isowatch/isowatch/check"
	"github.com/isowatch/isowatch/event"
)

// store holds what is tested here: registers in memory. With locks a transaction has them
// alone; without, each operation does, and updates get lost.
type store struct {
	locks  bool
	whole  sync.Mutex // held by a transaction
	mu     sync.Mutex // held by an operation
	values map[string]int
}

func (s *store) begin() (end func()) {
	if !s.locks {
		return func() {}
	}
	s.whole.Lock()
	return s.whole.Unlock
}

func (s *store) get(key string) (value int, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, found = s.values[key]
	return value, found
}

func (s *store) put(key string, value int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
}

// client runs transactions that read two keys and write one of them, and records them.
// Every value that it writes is its own.
func client(s *store, n, txns int, rng *rand.Rand, meet func()) []event.Record {
	var records []event.Record
	for seq := 1; seq <= txns; seq++ {
		value := n*txns + seq
		r := event.Record{
			ID: fmt.Sprintf("c%d-%d", n, seq), Session: fmt.Sprint("c", n), Seq: int64(seq), Flags: event.HasSeq,
			Status: event.Committed,
		}
		keys := []string{"x", "y"}
		end := s.begin()
		for _, key := range keys {
			op := event.RecordOp{Kind: event.Read, Key: key}
			if value, found := s.get(key); found {
				op.Value = strconv.Itoa(value)
			} else {
				op.Flags = event.NotFound
			}
			r.Ops = append(r.Ops, op)
		}
		meet() // so that the fault shows at every run
		key := keys[rng.IntN(2)]
		s.put(key, value)
		r.Ops = append(r.Ops, event.RecordOp{Kind: event.Write, Key: key, Value: strconv.Itoa(value)})
		end()
		records = append(records, r)
	}
	return records
}

// historyOf returns what two clients beside each other record.
func historyOf(s *store, meet func()) []event.Record {
	var mu sync.Mutex
	var all []event.Record
	var running sync.WaitGroup
	for n := range 2 {
		running.Go(func() {
			records := client(s, n, 50, rand.New(rand.NewPCG(uint64(n), 1)), meet)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, records...)
		})
	}
	running.Wait()
	return all
}

// TestStore is how a test uses this package.
func TestStore(t *testing.T) {
	records := historyOf(&store{locks: true, values: map[string]int{}}, func() {})
	result, err := check.History(records, check.Levels(check.StrongSession+check.Serializable))
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict() != check.OK {
		t.Error(result)
	}
}

// TestStoreWithoutLocks: the same store without locks does not pass that test.
func TestStoreWithoutLocks(t *testing.T) {
	records := historyOf(&store{values: map[string]int{}}, barrier(2))
	result, err := check.History(records, check.Levels(check.SnapshotIsolation, check.Serializable))
	if err != nil {
		t.Fatal(err)
	}
	if result.Of(check.SnapshotIsolation) != check.Violated || result.Verdict() != check.Violated || len(result.Findings) == 0 {
		t.Errorf("lost updates are not found: %v", result)
	}
}

// barrier returns when n goroutines have called it.
func barrier(n int) func() {
	var mu sync.Mutex
	waiting, gate := 0, make(chan struct{})
	return func() {
		mu.Lock()
		if waiting++; waiting == n {
			close(gate)
			waiting, gate = 0, make(chan struct{})
			mu.Unlock()
			return
		}
		mine := gate
		mu.Unlock()
		<-mine
	}
}
