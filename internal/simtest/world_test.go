package simtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// manner is how a scenario's records are cut into steps, and what happens
// between these. What is found must not depend on it.
type manner struct {
	name   string
	single bool // every record in a step of its own
	keyCap int  // keys and sessions in memory; 0: all
	disk   bool // the store is on disk
	after  func(*world) error
}

// manners are those that the i-th scenario runs in. With -short these are the first and the last, which has
// the most to take back. The short form of the tests has the first,
// and for every other scenario another one, in turn.
func manners(i int) []manner {
	all := []manner{
		{name: "as written"},
		{name: "single", single: true},
		{name: "crash after every step", after: (*world).crash},
		{name: "crash after every record", single: true, after: (*world).crash},
		{name: "restart after every record", single: true, disk: true, after: (*world).restart},
		{name: "one key in memory, crash after every record", single: true, keyCap: 1, after: (*world).crash},
	}
	if testing.Short() {
		return []manner{all[0], all[len(all)-1]}
	}
	if testrun.Short() {
		if i%2 > 0 {
			return all[:1]
		}
		others := all[1:]
		return []manner{all[0], others[i/2%len(others)]}
	}
	return all
}

// delivery is a record on its way, or lost input before it.
type delivery struct {
	partition string
	record    []byte
	gap       *ingest.Gap
}

// world is an engine over a store, and the partitions that it reads, which keep
// all that was ever put into them.
type world struct {
	tb     testing.TB
	cfg    window.Config
	manner manner
	store  *store.Store
	engine *engine.Engine
	now    int64
	parts  map[string][][]byte
	away   map[string]bool // partitions that cannot be read
	queue  []delivery
}

func newWorld(tb testing.TB, m manner) *world {
	tb.Helper()
	o := store.Options{MemTable: 2 << 20, InMemory: true} // scenarios are short, and thousands
	if m.disk {
		o = store.Options{MemTable: 8 << 20}
	}
	st, err := store.Open(tb.TempDir(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := st.Close(); err != nil {
			tb.Error(err)
		}
	})
	w := &world{tb: tb, cfg: whole(), manner: m, store: st, parts: map[string][][]byte{}, away: map[string]bool{}}
	w.cfg.KeyCap = m.keyCap
	return w
}

// open makes the engine from what the store holds.
func (w *world) open() (err error) {
	w.engine, err = engine.Open(w.store, engine.Options{
		Configure: func(string) window.Config { return w.cfg },
		Now:       func() int64 { return w.now },
		Gather:    time.Hour, // a step ends where the scenario says so
	})
	if err != nil {
		return err
	}
	for p, c := range w.engine.Cursors() {
		if c.Next != int64(len(w.parts[p])) {
			return fmt.Errorf("%s: committed up to %d of %d records", p, c.Next, len(w.parts[p]))
		}
	}
	return nil
}

// crash drops the engine as a kill would, with nothing written at the end. The
// readers of the next life find nothing new, and say so.
func (w *world) crash() error {
	w.engine = nil
	if err := w.open(); err != nil {
		return err
	}
	return w.run(w.answers(), false)
}

// restart lets the engine write its snapshot before.
func (w *world) restart() error {
	if err := w.engine.Close(); err != nil {
		return err
	}
	return w.crash()
}

// levels lets other levels be watched: in a running engine, or where the manner ends
// lives, in a new one.
func (w *world) levels(text string) (err error) {
	before := w.cfg.Levels
	if w.cfg.Levels, err = isolation.ParseLevels(text); err != nil {
		return err
	}
	if w.manner.after != nil {
		if err := w.manner.after(w); err != nil {
			w.cfg.Levels = before
			return errors.Join(err, w.open())
		}
		return nil
	}
	cfg, done := w.cfg, make(chan error, 1)
	go func() {
		done <- w.engine.Reconfigure(context.Background(), func(string) window.Config { return cfg }, true)
	}()
	for { // steps without input change nothing; one of them takes the levels up
		if err := w.run(w.answers(), false); err != nil {
			return err
		}
		select {
		case err := <-done:
			if err != nil {
				w.cfg.Levels = before
			}
			return err
		default:
		}
	}
}

// flush makes the queued records a step, or a step each.
func (w *world) flush() error {
	if w.engine == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	n := len(w.queue)
	if w.manner.single {
		n = 1
	}
	for len(w.queue) > 0 {
		if err := w.run(w.chunks(w.queue[:n]), false); err != nil {
			return err
		}
		w.queue = w.queue[n:]
		if w.manner.after != nil {
			if err := w.manner.after(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunks are ds in their order, neighbours of one partition together.
func (w *world) chunks(ds []delivery) []ingest.Chunk {
	var cs []ingest.Chunk
	for _, d := range ds {
		if k := len(cs) - 1; k < 0 || cs[k].Partition != d.partition || d.gap != nil {
			cs = append(cs, ingest.Chunk{Partition: d.partition, CaughtUp: true})
		}
		c := &cs[len(cs)-1]
		if d.gap != nil {
			c.Gaps = append(c.Gaps, *d.gap)
		} else {
			c.Messages = append(c.Messages, ingest.Message{Offset: int64(len(w.parts[d.partition])), Value: d.record})
			w.parts[d.partition] = append(w.parts[d.partition], d.record)
		}
		c.Cursor = ingest.Cursor{Next: int64(len(w.parts[d.partition]))}
	}
	return cs
}

func (w *world) run(chunks []ingest.Chunk, finish bool) error {
	in := make(chan ingest.Chunk, len(chunks))
	for _, c := range chunks {
		in <- c
	}
	close(in)
	return w.engine.Run(context.Background(), in, finish)
}

// tick moves the clock to text, ms, in strides of at most 500 ms; after each the
// readers find nothing new, and say so.
func (w *world) tick(text string) error {
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("tick: %w", err)
	}
	for to := epoch + at*ms; ; {
		w.now = min(to, max(w.now, epoch)+500*ms)
		if err := w.run(w.answers(), false); err != nil || w.now == to {
			return err
		}
	}
}

// stall moves the clock to text, ms, while nothing is read at all.
func (w *world) stall(text string) error {
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("stall: %w", err)
	}
	w.now = epoch + at*ms
	return nil
}

// leave lets a partition be away from now on, as its reader says.
func (w *world) leave(p string) error {
	w.away[p] = true
	return w.run(w.answers(), false)
}

func (w *world) back(p string) error {
	if !w.away[p] {
		return fmt.Errorf("%s is not away", p)
	}
	delete(w.away, p)
	return nil
}

// answers returns what readers say that stand at the ends of their partitions, or
// cannot read them.
func (w *world) answers() []ingest.Chunk {
	var chunks []ingest.Chunk
	cursors := w.engine.Cursors()
	for _, p := range slices.Sorted(maps.Keys(cursors)) {
		c := ingest.Chunk{Partition: p, Cursor: cursors[p], CaughtUp: true}
		if w.away[p] {
			c.CaughtUp, c.Problem = false, "no answer"
		}
		chunks = append(chunks, c)
	}
	return chunks
}

func (w *world) end() error { return w.run(nil, true) }
