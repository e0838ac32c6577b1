// Package drive runs a member of a group in real time. It gives the state machine of internal/group clocks and
// ticks, and carries out its requests over a store.
package drive

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/store"
)

// Options of a member.
type Options struct {
	ID    string
	Lease time.Duration
	Units []string
	Store store.Store
	// Has says whether a unit that the store has is the group's: others are of settings before, and stay without an owner. nil: all are.
	Has func(unit string) bool
	// Heed is called with each event, in their order, and not concurrently. It must not block for long.
	Heed func(group.Event)
}

// Member is a member that runs. Its methods may be called from any goroutine.
type Member struct {
	o     Options
	began time.Time

	mu     sync.Mutex
	member *group.Member
	events []group.Event
	fault  error // of the latest request; nil: the store has answered

	more   chan struct{} // holds one token while there may be events
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Start lets the member join.
func Start(o Options) *Member {
	m := &Member{o: o, began: time.Now(), more: make(chan struct{}, 1)}
	m.member = group.NewMember(group.Config{ID: o.ID, Lease: o.Lease, Random: rand.Uint64})
	m.member.SetUnits(o.Units)
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.done.Go(m.tick)
	m.done.Go(m.tell)
	return m
}

// Stop ends it without another word, as a kill does.
func (m *Member) Stop() {
	m.mu.Lock()
	m.cancel() // nothing new begins
	m.mu.Unlock()
	m.done.Wait()
}

// now has the two clocks of this machine.
func (m *Member) now() group.Instant {
	now := time.Now()
	return group.Instant{Mono: now.Sub(m.began), Wall: time.Duration(now.UnixNano())}
}

func (m *Member) tick() {
	const ticks = 20 // in a lease
	tick := time.NewTicker(m.o.Lease / ticks)
	defer tick.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-tick.C:
			m.with(func(x *group.Member) { x.Tick(m.now()) })
		}
	}
}

// with lets fn change the member, and carries out what that asks for.
func (m *Member) with(fn func(*group.Member)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	fn(m.member)
	for _, r := range m.member.Requests() {
		m.done.Go(func() { m.ask(r) })
	}
	if events := m.member.Events(); len(events) > 0 {
		m.events = append(m.events, events...)
		select {
		case m.more <- struct{}{}:
		default:
		}
	}
}

func (m *Member) ask(r group.Request) {
	ctx, cancel := context.WithTimeout(m.ctx, m.o.Lease/2)
	defer cancel()
	reply := store.Do(ctx, m.o.Store, r)
	if r.Op == group.List && r.Key == group.UnitKey("") && m.o.Has != nil {
		other := func(v group.Value) bool { return !m.o.Has(group.UnitOf(v.Key)) }
		if slices.ContainsFunc(reply.Values, other) {
			reply.Values = slices.DeleteFunc(slices.Clone(reply.Values), other)
		}
	}
	m.with(func(x *group.Member) {
		if m.fault = reply.Err; errors.Is(reply.Err, group.ErrConflict) || errors.Is(reply.Err, group.ErrNotFound) {
			m.fault = nil
		}
		x.Take(m.now(), reply)
	})
}

// Fault is the error of the latest request to the store; nil: it answers. A [context.DeadlineExceeded] says that it did
// not answer.
func (m *Member) Fault() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fault
}

// tell hands on events.
func (m *Member) tell() {
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-m.more:
		}
		m.mu.Lock()
		events := m.events
		m.events = nil
		m.mu.Unlock()
		for _, e := range events {
			m.o.Heed(e)
		}
	}
}

// SetUnits is the member's.
func (m *Member) SetUnits(names []string) {
	m.with(func(x *group.Member) { x.SetUnits(names) })
}

// Units is the member's.
func (m *Member) Units() (all []group.Standing) {
	m.with(func(x *group.Member) { all = x.Units(m.now()) })
	return all
}

// Commit is the member's.
func (m *Member) Commit(unit string, term uint64, data []byte, through uint64) (begun bool) {
	m.with(func(x *group.Member) { begun = x.Commit(unit, term, data, through) })
	return begun
}

// Hand is the member's.
func (m *Member) Hand(unit string, term uint64, to string) {
	m.with(func(x *group.Member) { x.Hand(unit, term, to) })
}

// Yielded is the member's.
func (m *Member) Yielded(unit string, term uint64) {
	m.with(func(x *group.Member) { x.Yielded(unit, term) })
}

// Leave is the member's.
func (m *Member) Leave() { m.with((*group.Member).Leave) }

// HasShare is the member's.
func (m *Member) HasShare() (has bool) {
	m.with(func(x *group.Member) { has = x.HasShare() })
	return has
}

// HasLeft is the member's.
func (m *Member) HasLeft() (left bool) {
	m.with(func(x *group.Member) { left = x.HasLeft() })
	return left
}

// May is the member's: it asks the clocks now.
func (m *Member) May(unit string, term, number uint64) (left time.Duration) {
	m.with(func(x *group.Member) { left = x.May(m.now(), unit, term, number) })
	return left
}

// Name names the present life.
func (m *Member) Name() (name string) {
	m.with(func(x *group.Member) { name = x.Name() })
	return name
}

// Left is for how long nobody can have taken this member's units.
func (m *Member) Left() (left time.Duration) {
	m.with(func(x *group.Member) { left = x.Left(m.now()) })
	return left
}
