package probe

import (
	"context"
	"sync"

	"github.com/isowatch/isowatch/event"
)

// generationLength is how many transactions on its keys a generation has, for each of
// Options.Keys: a list gets some 25 elements, so that its reads stay small.
const generationLength = 20

// generations are of keys that a run uses for a while: lists, whose reads would grow for ever,
// and rows that are inserted once. They are named by a generation and a number, as "l7.4" and
// "p7.4". When no transaction uses a generation any more, its keys are deleted, without a
// record: nobody sees whether they are there.
type generations struct {
	keys int // Options.Keys

	mu     sync.Mutex
	used   int64         // transactions so far
	inUse  map[int64]int // transactions that run, by their generation
	gone   int64         // generations before it are deleted, or being deleted
	failed []int64       // of those, the ones that could not be deleted, at most mostFailed
}

// mostFailed generations are remembered that could not be deleted. A database that deletes
// nothing keeps the others.
const mostFailed = 64

func newGenerations(keys int) *generations {
	return &generations{keys: keys, inUse: map[int64]int{}}
}

// enter is the generation that a transaction uses until it leaves.
func (g *generations) enter() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.used / int64(g.keys*generationLength)
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
	oldest := g.used / int64(g.keys*generationLength)
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

// forget deletes the keys of a generation, in a transaction without a record.
func (c *client) forget(ctx context.Context, generation int64) {
	session := c.link().session
	if session == nil {
		c.passing.fail(generation)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	if err := session.Begin(ctx); err != nil {
		c.passing.fail(generation)
		c.link().fail(&c.o, c.rng)
		return
	}
	var err error
	for _, op := range c.keysOf(generation) {
		if err = session.Do(ctx, &op); err != nil {
			break
		}
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
		c.passing.fail(generation)
	}
}

// keysOf are the deletes of all keys of a generation that the workload may have written.
func (c *client) keysOf(generation int64) []Op {
	var used traits
	for _, t := range c.templates {
		if t.traits&passing != 0 {
			used |= t.traits
		}
	}
	var all []Op
	for n := range c.o.Keys {
		if used&onLists != 0 {
			all = append(all, Op{RecordOp: event.RecordOp{Kind: event.Delete, Data: event.List, Key: listKey(generation, n)}})
		}
		if used&onRows != 0 {
			all = append(all, Op{RecordOp: event.RecordOp{Kind: event.Delete, Key: passingRow(generation, n)}})
		}
	}
	return all
}
