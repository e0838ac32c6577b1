package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/probe"
)

// levels are the levels that a store can keep. The anomalies that the next level forbids happen
// there, as often as transactions meet.
var levels = []struct {
	name string
	bugs workload.Bugs
}{
	{"read-uncommitted", workload.Bugs{LostUpdate: 0.4, WriteSkew: 0.4, DirtyRead: 1}},
	{"read-committed", workload.Bugs{LostUpdate: 0.5, WriteSkew: 0.5}},
	{"snapshot-isolation", workload.Bugs{WriteSkew: 1}},
	{"serializable", workload.Bugs{}},
}

// Levels are the names of what can be simulated, the weakest first.
func Levels() []string {
	var names []string
	for _, l := range levels {
		names = append(names, l.name)
	}
	return names
}

// think is the mean time that a transaction takes for an operation, so that transactions
// meet.
const think = 2 * time.Millisecond

// Open is an empty store that keeps the level.
func Open(level, prefix string) (*probe.Clients, error) {
	for _, l := range levels {
		if l.name == level {
			store, opened := workload.NewStore(l.bugs), new(atomic.Uint64)
			return &probe.Clients{
				Prefix: prefix,
				Limit:  probe.Limits{NoRows: true},
				Connect: func(context.Context) (probe.Client, error) {
					return &client{store: store, rng: rand.New(rand.NewPCG(opened.Add(1), 0))}, nil
				},
			}, nil
		}
	}
	return nil, fmt.Errorf("the level %q cannot be simulated: want %s", level, strings.Join(Levels(), ", "))
}

type client struct {
	store *workload.Store
	rng   *rand.Rand
}

// Transact implements [probe.Client].
func (c *client) Transact(ctx context.Context, ops []event.RecordOp) ([]event.RecordOp, event.Status, error) {
	writes := 0
	for i := range ops {
		if ops[i].Kind == event.Delete {
			c.store.Forget(ops[i].Key)
		} else if ops[i].Writes() || ops[i].Kind == event.Inc {
			writes++
		}
	}
	tx := c.store.Begin(writes == 0, c.rng)
	for i := range ops {
		if i > 0 {
			c.sleep(ctx)
		}
		if err := run(tx, &ops[i]); err != nil {
			tx.Abort()
			return nil, event.Aborted, err
		}
	}
	if err := ctx.Err(); err != nil {
		tx.Abort()
		return nil, event.Aborted, err
	}
	if err := tx.Commit(); err != nil {
		return nil, event.Aborted, err
	}
	for i := range ops {
		if ops[i].Version == ownVersion {
			ops[i].Version = strconv.FormatInt(tx.Version(), 10)
		}
	}
	return ops, event.Committed, nil
}

// ownVersion stands for the version that a transaction leaves, which it gets when it commits.
const ownVersion = "own"

// count reads a counter, and tells its version.
func count(tx *workload.Tx, o *event.RecordOp) {
	value, version, own := tx.Count(o.Key)
	switch {
	case own:
		o.Version = ownVersion
	case version == 0:
		o.Flags = event.NotFound
		return
	default:
		o.Version = strconv.FormatInt(version, 10)
	}
	o.Value = strconv.FormatInt(value, 10)
}

// add adds to a counter.
func add(tx *workload.Tx, o *event.RecordOp, n int64) {
	o.Version = ownVersion
	if replaced := tx.Inc(o.Key, n); replaced > 0 {
		o.PrevVersion = strconv.FormatInt(replaced, 10)
	}
}

// run runs one operation, and puts the answer into it.
func run(tx *workload.Tx, o *event.RecordOp) error {
	switch {
	case o.Kind == event.Read && o.Data == event.List:
		list := tx.ReadList(o.Key).List
		for _, e := range list {
			o.Elems = append(o.Elems, strconv.FormatInt(e, 10))
		}
		o.Value, o.Flags = "["+strings.Join(o.Elems, ",")+"]", event.IsArray
		return nil
	case o.Kind == event.Read && o.Data == event.Counter:
		count(tx, o)
		return nil
	case o.Kind == event.Read:
		if read := tx.Read(o.Key); read.Absent {
			o.Flags = event.NotFound
		} else {
			o.Value = strconv.FormatInt(read.Value, 10)
		}
		return nil
	case o.Kind == event.Delete: // of a list that nobody reads any more
		return nil
	}
	value, err := strconv.ParseInt(o.Value, 10, 64)
	switch {
	case err != nil:
		return fmt.Errorf("the simulated store takes integers, and not %s", o.Value)
	case o.Kind == event.Append:
		tx.Append(o.Key, value)
	case o.Kind == event.Write:
		tx.Write(o.Key, value)
	case o.Kind == event.Inc:
		add(tx, o, value)
	default:
		return fmt.Errorf("the simulated store has no operation %s", o.Kind)
	}
	return nil
}

func (c *client) sleep(ctx context.Context) {
	timer := time.NewTimer(time.Duration(c.rng.Int64N(int64(2 * think))))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Close implements [probe.Client].
func (c *client) Close() error { return nil }
