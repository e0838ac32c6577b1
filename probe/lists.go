package probe

import (
	"context"
	"fmt"
	"sync"

	"github.com/isowatch/isowatch/event"
)

// listLength is how many transactions on lists there are, for each of Options.Keys, before
// all sessions turn to new lists: a list gets some 25 elements, so that its reads stay small.
const listLength = 20

// generations are the lists of all sessions of a run. They are named by a generation and a
// number, as "l7.4". Lists of a generation that no transaction uses any more are deleted,
// without a record: nobody sees whether they are there.
type generations struct {
	keys int // Options.Keys

	mu     sync.Mutex
	used   int64         // transactions so far
	inUse  map[int64]int // transactions that run, by their generation
	gone   int64         // generations before it are deleted, or being deleted
	failed []int64       // of those, the ones that could not be deleted, at most mostFailed
}

// mostFailed generations are remembered that could not be deleted. A database that deletes
// nothing keeps the lists of the others.
const mostFailed = 64

func newGenerations(keys int) *generations {
	return &generations{keys: keys, inUse: map[int64]int{}}
}

// enter is the generation that a transaction uses until it leaves.
func (g *generations) enter() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.used / int64(g.keys*listLength)
	g.used++
	g.inUse[n]++
	return n
}

// leave ends a transaction's use, and says which generation the caller is to delete, if any
// and if it can. The one before a generation in use stays: an outcome that is unknown may
// still come true.
func (g *generations) leave(n int64, can bool) (dead int64, is bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inUse[n]--; g.inUse[n] == 0 {
		delete(g.inUse, n)
	}
	oldest := g.used / int64(g.keys*listLength)
	for used := range g.inUse {
		oldest = min(oldest, used)
	}
	switch {
	case !can:
		return 0, false
	case g.gone+1 < oldest:
		g.gone++
		return g.gone - 1, true
	case len(g.failed) > 0:
		dead, g.failed = g.failed[0], g.failed[1:]
		return dead, true
	}
	return 0, false
}

// fail has somebody else try again to delete a generation.
func (g *generations) fail(dead int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.failed) < mostFailed {
		g.failed = append(g.failed, dead)
	}
}

func listKey(generation int64, n int) string { return fmt.Sprintf("l%d.%d", generation, n) }

// list is the key of a list of the transaction's generation.
func (c *client) list(n int) string { return listKey(c.generation, n) }

// forget deletes the lists of a generation, in a transaction without a record.
func (c *client) forget(ctx context.Context, generation int64) {
	session := c.link().session
	if session == nil {
		c.lists.fail(generation)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	if err := session.Begin(ctx); err != nil {
		c.lists.fail(generation)
		c.link().fail(&c.o, c.rng)
		return
	}
	var err error
	for n := 0; n < c.o.Keys && err == nil; n++ {
		err = session.Do(ctx, &Op{RecordOp: event.RecordOp{Kind: event.Delete, Data: event.List, Key: listKey(generation, n)}})
	}
	status := event.Aborted
	if err == nil {
		status, _ = session.Commit(ctx)
	} else if session.Rollback(ctx) != nil {
		status = event.Unknown
	}
	if status == event.Unknown {
		c.drop()
	}
	if status != event.Committed {
		c.lists.fail(generation)
	}
}

// lists appends to lists and reads them.
func lists() []template {
	return []template{
		{3, "append", onLists, func(c *client) func(*Tx) { // write skew
			a, b := c.pair(c.o.Keys)
			return func(tx *Tx) {
				tx.list(c.list(a))
				tx.append(c.list(b), c.unique())
			}
		}},
		{2, "append twice", onLists, func(c *client) func(*Tx) { // reads of what is not the last
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.append(c.list(a), c.unique())
				tx.append(c.list(b), c.unique())
				tx.append(c.list(a), c.unique())
				tx.list(c.list(b))
			}
		}},
		{1, "append and look", onLists, func(c *client) func(*Tx) { // lost updates
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.list(c.list(a))
				tx.append(c.list(a), c.unique())
				tx.list(c.list(b))
			}
		}},
		{2, "look at lists", onLists | looks, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.list(c.list(a))
				tx.list(c.list(b))
			}
		}},
	}
}
