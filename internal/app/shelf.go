package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/web"
)

const (
	// shelfChunk findings are read at once: a request waits for no more than that.
	shelfChunk = 200
	// shelfPending ids wait to be read, at most. Beyond it everything is read again.
	shelfPending = 50_000
	// shelfPause is the time between two looks at what has changed: a finding that is written in
	// each of many steps is read once. A request does not wait for it.
	shelfPause = 100 * time.Millisecond
	// maxLooked bounds the findings without a place in the catalog that a request looks through: a
	// shorter page with a cursor then.
	maxLooked = 2000
)

// shelf answers the pages from the catalog and the store. The catalog follows the store: one
// goroutine fills it from the newest finding to the oldest, and reads what has changed.
type shelf struct {
	reader engine.Reader
	log    *slog.Logger
	now    func() time.Time

	// work is held from reading the store until the catalog knows, so that nothing older takes the
	// place of something newer. It is taken before mu.
	work sync.Mutex

	mu      sync.RWMutex
	catalog *catalog.Catalog
	filling bool
	from    uint64 // while it is filled: it has the findings from this order on

	pending struct {
		sync.Mutex
		ids       map[string]bool
		forgotten uint64
		lost      bool // ids that found no room
	}
	hiding *hiding // nil: all values are shown
	asks   asksAgain
	wake   chan struct{}
	failed atomic.Int64 // findings that could not be read
	// version grows when a finding, a mark or the reach of the index changes.
	version atomic.Int64
}

func newShelf(r engine.Reader, bytes int64, now func() time.Time, log *slog.Logger) *shelf {
	s := &shelf{reader: r, log: log, now: now, catalog: catalog.New(0, bytes), filling: true, wake: make(chan struct{}, 1)}
	s.pending.ids = map[string]bool{}
	return s
}

// changed notes what a commit changed. It never blocks for long: see engine.Options.
func (s *shelf) changed(ids []string, forgotten uint64) {
	p := &s.pending
	p.Lock()
	for _, id := range ids {
		if len(p.ids) >= shelfPending {
			clear(p.ids)
			p.lost = true
		}
		p.ids[id] = true
	}
	p.forgotten = forgotten
	p.Unlock()
	s.version.Add(1)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take is some of what has changed.
func (s *shelf) take() (ids []string, forgotten uint64, lost bool) {
	p := &s.pending
	p.Lock()
	defer p.Unlock()
	for id := range p.ids {
		if len(ids) == shelfChunk {
			break
		}
		ids = append(ids, id)
		delete(p.ids, id)
	}
	lost, p.lost = p.lost, false
	return ids, p.forgotten, lost
}

// catchUp lets the catalog know some of what has changed, and says whether there is more.
func (s *shelf) catchUp() (more bool, err error) {
	s.work.Lock()
	defer s.work.Unlock()
	ids, forgotten, lost := s.take()
	if lost {
		s.mu.Lock()
		s.catalog.Clear()
		s.filling, s.from = true, 0
		s.mu.Unlock()
	}
	var list []catalog.Summary
	var gone []string
	for _, id := range ids {
		order, text, ok, err := s.reader.Stored(id)
		switch {
		case err != nil:
			return false, errors.Join(err, s.again(ids))
		case !ok:
			gone = append(gone, id)
		case s.filling && order < s.from: // it is read when its turn comes
		default:
			list = s.summarize(list, order, text)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog.Put(list)
	if err := s.adopt(list); err != nil {
		return false, err
	}
	if len(gone) > 0 {
		s.catalog.Remove(gone)
	}
	if forgotten > 0 {
		s.catalog.Forget(forgotten)
	}
	return len(ids) == shelfChunk, nil
}

// again puts back what was taken.
func (s *shelf) again(ids []string) error {
	s.pending.Lock()
	defer s.pending.Unlock()
	for _, id := range ids {
		s.pending.ids[id] = true
	}
	return nil
}

func (s *shelf) summarize(list []catalog.Summary, order uint64, text []byte) []catalog.Summary {
	x, err := catalog.Summarize(order, text)
	if err != nil {
		if s.failed.Add(1) == 1 {
			s.log.Error("a stored finding is not in the index, since it cannot be read", "order", order, "err", err)
		}
		return list
	}
	return append(list, x)
}

// fill takes in the next older findings, and says whether there are more.
func (s *shelf) fill() (more bool, err error) {
	s.work.Lock()
	defer s.work.Unlock()
	if !s.filling {
		return false, nil
	}
	read := 0
	from := s.from
	var list []catalog.Summary
	err = s.reader.Before(s.from, func(order uint64, text []byte) bool {
		read++
		from = order
		list = s.summarize(list, order, text)
		return read < shelfChunk
	})
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog.Put(list)
	if err := s.adopt(list); err != nil {
		return false, err
	}
	s.from = from
	if s.filling = read == shelfChunk && !s.catalog.Full(); !s.filling {
		s.catalog.Fit()
		s.version.Add(1)
	}
	return s.filling, nil
}

// recall reads the marks of groups.
func (s *shelf) recall() error {
	return s.reader.Marks(func(group string, text []byte) error {
		var m catalog.Marks
		if err := json.Unmarshal(text, &m); err != nil {
			s.log.Error("who acknowledged or silenced a group of findings cannot be read", "group", group, "err", err)
			return nil
		}
		s.catalog.Mark(group, m)
		return nil
	})
}

// run keeps the catalog up until ctx ends.
func (s *shelf) run(ctx context.Context) {
	for ctx.Err() == nil {
		more, err := s.fill()
		if err == nil {
			var changed bool
			changed, err = s.catchUp()
			more = more || changed
		}
		pause := shelfPause
		switch {
		case err != nil:
			s.log.Error("the index of findings cannot be updated", "err", err)
			pause = time.Minute
		case more:
			continue
		default:
			select {
			case <-s.wake:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func (a *App) makeShelf(context.Context) error {
	a.strips = newStrips(engine.Reader{Store: a.store})
	a.shelf = newShelf(engine.Reader{Store: a.store}, a.budget.catalog, a.options.Now, a.log)
	a.shelf.asks.inputs = func() []*input { return a.inputs } // they are opened before pages ask
	return a.makeHiding()
}

// keepShelf runs the shelf until the app stops.
func (a *App) keepShelf(context.Context) error {
	if err := a.shelf.recall(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { a.shelf.run(ctx) })
	a.cleanups.push("index of findings", func(context.Context) error { stop(); done.Wait(); return nil })
	return nil
}

// bytes is the memory of the catalog, and of what waits for it.
func (s *shelf) bytes() int64 {
	const id = 80 // bytes of an id in a map, about
	s.pending.Lock()
	waiting := int64(len(s.pending.ids)) * id
	s.pending.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.catalog.Bytes() + waiting
}

// asked is q in the words of the catalog.
func (s *shelf) asked(q *web.Query) catalog.Query {
	return catalog.Query{
		Source: q.Source, Except: config.SelfTestSource, Anomaly: q.Anomaly, Kind: q.Kind, State: q.State, Expected: q.Expected,
		Acknowledged: q.Acknowledged, Silenced: q.Silenced, Endpoint: q.Endpoint, Name: q.Name, Group: q.Group, Text: q.Text,
		From: q.From, To: q.To, EndedFrom: q.EndedFrom, EndedTo: q.EndedTo, Refutes: q.Refutes,
		Since: q.Since, Until: q.Until, Recent: q.Recent, Now: s.now().UnixNano(),
	}
}

// List implements [web.Findings]. Findings that are not in the catalog yet, or have no room there,
// are looked through in the store.
func (s *shelf) List(q web.Query) (page []finding.Finding, next string, err error) {
	before := uint64(0)
	if q.Before != "" {
		if before, err = strconv.ParseUint(q.Before, 10, 64); err != nil || before == 0 {
			return nil, "", web.ErrCursor
		}
	}
	if _, err := s.catchUp(); err != nil {
		return nil, "", err
	}
	asked := s.asked(&q)
	s.mu.RLock()
	asked = s.catalog.Spanned(asked) // the same stretch of time for those that are not in it
	orders, rest := s.catalog.List(asked, before, q.Limit+1), s.rest()
	s.mu.RUnlock()
	// Before the first look at the store, the catalog has only what has changed since.
	orders = slices.DeleteFunc(orders, func(order uint64) bool { return order < rest })
	if before > 0 {
		rest = min(rest, before)
	}
	looked, done := 0, rest <= 1
	for len(orders) <= q.Limit && !done && looked < maxLooked {
		var more []uint64
		if more, rest, done, err = s.older(&asked, rest); err != nil {
			return nil, "", err
		}
		orders = append(orders, more...)
		looked += shelfChunk
	}
	if len(orders) > q.Limit {
		orders = orders[:q.Limit]
		next = strconv.FormatUint(orders[q.Limit-1], 10)
	} else if !done {
		next = strconv.FormatUint(rest, 10)
	}
	for _, order := range orders {
		f, ok, err := s.reader.At(order)
		if err != nil {
			return nil, "", err
		}
		if ok { // else it has just gone
			s.hiding.finding(&f)
			page = append(page, f)
		}
	}
	return page, next, nil
}

// rest is the order from which on findings are in the catalog; 0: there are no others. mu is held.
func (s *shelf) rest() uint64 {
	switch {
	case s.filling && s.from == 0:
		return 1<<63 - 1
	case s.filling:
		return max(s.from, s.catalog.Floor()+1)
	case s.catalog.Full():
		return s.catalog.Floor() + 1
	}
	return 0
}

// older looks through some stored findings before an order.
func (s *shelf) older(q *catalog.Query, before uint64) (orders []uint64, rest uint64, done bool, err error) {
	var list []catalog.Summary
	read := 0
	rest = before
	err = s.reader.Before(before, func(order uint64, text []byte) bool {
		read++
		rest = order
		list = s.summarize(list, order, text)
		return read < shelfChunk
	})
	if err != nil {
		return nil, 0, false, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.catalog.Beside(list, *q), rest, read < shelfChunk, nil
}

// Get implements [web.Findings].
func (s *shelf) Get(id string) (f finding.Finding, ok bool, err error) {
	if f, ok, err = s.reader.Get(id); ok {
		if f.Raw, err = s.reader.Raw(id); err != nil {
			return f, ok, err
		}
		s.hiding.finding(&f)
		s.asks.readAgain(&f)
	}
	return f, ok, err
}

// Groups implements [web.Groups].
func (s *shelf) Groups(q web.Query, by string, skip, most int) (g catalog.Groups, x web.Index, err error) {
	if _, err := s.catchUp(); err != nil {
		return g, x, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	x = web.Index{Findings: s.catalog.Len(), Filling: s.filling, Full: s.catalog.Full()}
	return s.catalog.Group(s.asked(&q), by, skip, most), x, nil
}

// Marks implements [web.Groups].
func (s *shelf) Marks(group string) catalog.Marks {
	s.mu.RLock()
	defer s.mu.RUnlock()
	m, _ := s.catalog.Marked(group)
	return m
}

// maxMarked bounds the groups with marks.
const maxMarked = 10_000

// Mark implements [web.Groups].
func (s *shelf) Mark(group string, change func(*catalog.Marks)) (catalog.Marks, error) {
	behind, err := s.catchUp()
	if err != nil {
		return catalog.Marks{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, all := s.catalog.Marked(group)
	known := m != (catalog.Marks{})
	switch {
	case !known && len(s.catalog.List(catalog.Query{Group: group}, 0, 1)) == 0:
		if s.filling || behind {
			return m, web.ErrFilling
		}
		return m, web.ErrNoGroup
	case !known && all >= maxMarked:
		return m, web.ErrTooManyMarks
	}
	change(&m)
	return m, s.setMarks(group, m)
}

// setMarks stores the marks of a group. mu is held.
func (s *shelf) setMarks(group string, m catalog.Marks) error {
	var text []byte
	if m != (catalog.Marks{}) {
		var err error
		if text, err = json.Marshal(&m); err != nil {
			return err
		}
	}
	if err := s.reader.Mark(group, text); err != nil {
		return err
	}
	s.catalog.Mark(group, m)
	s.version.Add(1)
	return nil
}

// adopt moves the marks of groups of a probe that had an epoch in their keys, as older programs made them. mu is held.
func (s *shelf) adopt(list []catalog.Summary) error {
	for i := range list {
		x := &list[i]
		old, _ := s.catalog.Marked(x.OldKey)
		if x.OldKey == "" || old == (catalog.Marks{}) {
			continue
		}
		key := x.Group.Key()
		now, _ := s.catalog.Marked(key)
		if err := errors.Join(s.setMarks(key, now.Newest(old)), s.setMarks(x.OldKey, catalog.Marks{})); err != nil {
			return err
		}
	}
	return nil
}
