package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/keep"
	"github.com/isowatch/isowatch/window"
)

// beginning is where a unit begins that has lost its state.
type beginning struct {
	Cursors map[string]ingest.Cursor `json:"cursors,omitempty"` // by partition; none: what the broker still has
	Read    map[string]int64         `json:"read,omitempty"`    // by partition: how far it was read, one window later
	// Oldest says that less than a window was read, from what was the oldest record of the broker.
	Oldest bool   `json:"oldest,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// unread says whether nothing of the partition had been read at the place: it begins with the oldest record.
func (b *beginning) unread(partition string) bool {
	c, ok := b.Cursors[partition]
	return ok && c.Next < 0
}

// known says whether b tells where to begin.
func (b *beginning) known() bool { return len(b.Cursors) > 0 || b.Oldest }

// beginningIn reads a place. It gives nothing if there is none.
func beginningIn(text json.RawMessage) (b beginning) {
	if len(text) > 0 && json.Unmarshal(text, &b) != nil {
		return beginning{}
	}
	return b
}

// why is the reason of the gap in a partition, before the offset at which the unit begins.
func (b *beginning) why(partition string, begins int64) string {
	read, ok := b.Read[partition]
	switch {
	case !ok:
		return b.Reason + ": what came before is not known"
	case begins <= 1: // brokers count from 0 or 1
		return fmt.Sprintf("%s. It was read up to %d, and is read again from %d on, from the beginning of the input", b.Reason, read, begins)
	case b.Oldest || b.unread(partition):
		return fmt.Sprintf("%s. It was read up to %d, less than a window, and is read again from %d on: what came before is not known", b.Reason, read, begins)
	}
	return fmt.Sprintf("%s. It was read up to %d, and is read again from %d on, a window before: what came before is not known", b.Reason, read, begins)
}

// reach is how much a unit reads again that has lost its state: one window, and what a record may take to come. The time counts where
// records have times, and the number of transactions where they have none.
type reach struct {
	time time.Duration
	txns int64
}

// reachOf is the longest of all sources.
func reachOf(c *config.Service) (r reach) {
	for _, name := range append(c.SourceNames(), config.DefaultSource) {
		w := c.WatchOf(name)
		r.time = max(r.time, w.Window.Duration+w.Lateness+w.MaxTransaction)
		r.txns = max(r.txns, cmp.Or(w.Window.Txns, window.Config{}.WithDefaults().WindowTxns))
	}
	return r
}

// places remember where a unit read its inputs one window ago.
type places struct {
	reach  reach
	start  beginning // what counts until a window was read behind the first spot
	spots  []spot    // later ones
	looked time.Time
}

// mostSpots are kept. Where there are more, every second one goes.
const mostSpots = 32

// lookAtPlaces is at the least between two spots.
const lookAtPlaces = time.Second / 2

// spot is where a unit read its inputs.
type spot struct {
	at      time.Time
	cursors map[string]ingest.Cursor
	sources map[string]progress
}

// progress is how far a source was.
type progress struct{ watermark, txns int64 }

// newPlaces begins with what the state says. No state: the unit begins with the oldest record.
func newPlaces(r reach, state []byte) *places {
	p := &places{reach: r, start: beginningIn(keep.Place(state))}
	if len(state) == 0 {
		p.start = beginning{Oldest: true}
	}
	return p
}

// look takes what the engine has read by now. It says where to begin if the state is lost by now; nil: that is not known.
func (p *places) look(now time.Time, s *engine.Status) json.RawMessage {
	if now.Sub(p.looked) >= lookAtPlaces {
		p.looked = now
		p.step(now, s)
	}
	b := p.start
	if !b.known() {
		return nil
	}
	b.Read, b.Reason = map[string]int64{}, ""
	for _, c := range s.Cursors {
		b.Read[c.Partition] = c.Next
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil
	}
	return text
}

// begun says where the unit began, as long as it has read nothing; nil: that is not known.
func (p *places) begun() json.RawMessage {
	b := p.start
	if !b.known() {
		return nil
	}
	b.Reason = ""
	text, err := json.Marshal(b)
	if err != nil {
		return nil
	}
	return text
}

// step takes a new spot if it is time, and forgets those that are too old.
func (p *places) step(now time.Time, s *engine.Status) {
	if len(s.Cursors) > 0 && p.due(now, s) {
		x := spot{at: now, cursors: map[string]ingest.Cursor{}, sources: map[string]progress{}}
		for _, c := range s.Cursors {
			x.cursors[c.Partition] = ingest.Cursor{Next: c.Next, Identity: c.Identity}
		}
		for _, src := range s.Sources {
			x.sources[src.Source] = progress{src.Watermark, transactions(&src.Counters)}
		}
		if len(p.spots) == mostSpots {
			for i := range mostSpots / 2 {
				p.spots[i] = p.spots[2*i]
			}
			p.spots = p.spots[:mostSpots/2]
		}
		p.spots = append(p.spots, x)
	}
	for len(p.spots) > 0 && p.over(&p.spots[0], now, s) {
		p.start, p.spots = beginning{Cursors: p.spots[0].cursors}, p.spots[1:]
	}
}

// due says whether a tenth of a window has passed since the latest spot.
func (p *places) due(now time.Time, s *engine.Status) bool {
	n := len(p.spots)
	if n == 0 || now.Sub(p.spots[n-1].at) > p.reach.time/10 {
		return true
	}
	return slices.ContainsFunc(s.Sources, func(src *engine.SourceStatus) bool {
		was := p.spots[n-1].sources[src.Source]
		return src.Watermark-was.watermark > int64(p.reach.time/10) || transactions(&src.Counters)-was.txns > p.reach.txns/10
	})
}

// over says whether each source has read a window since the spot. One that has read nothing lately is over with its latest record.
func (p *places) over(x *spot, now time.Time, s *engine.Status) bool {
	if len(s.Sources) == 0 {
		return now.Sub(x.at) > p.reach.time
	}
	lately, latest := &p.spots[max(len(p.spots)-2, 0)], int64(0)
	for _, src := range s.Sources {
		latest = max(latest, src.Latest)
	}
	for _, src := range s.Sources {
		was, met := x.sources[src.Source]
		more := transactions(&src.Counters) - was.txns
		idle := transactions(&src.Counters) == lately.sources[src.Source].txns && latest-src.Latest > int64(p.reach.time)
		switch {
		case !met: // all its records come after the spot
		case src.Latest == 0: // it has no times
			if more <= p.reach.txns {
				return false
			}
		case (was.watermark == 0 || src.Watermark-was.watermark <= int64(p.reach.time)) && !idle:
			return false
		}
	}
	return true
}

// place says where a successor begins that cannot read the state.
func (u *unit) place() json.RawMessage {
	u.mu.Lock()
	a, places := u.app, u.places
	u.mu.Unlock()
	switch {
	case places == nil:
		return nil
	case a == nil || a.engine == nil: // it may be handed over before it has begun
		return places.begun()
	}
	return places.look(time.Now(), a.Status())
}

// placePrefix is before the keys of records with the places of units. They count if the state is damaged or gone.
const placePrefix = "place/"

// placeEvery is how often an owner writes the place of a unit at the most. The state may have a later one.
const placeEvery = 10 * time.Second

// placed is such a record.
type placed struct {
	Unit  string          `json:"unit"`
	Term  uint64          `json:"term"` // of the owner that wrote it
	Place json.RawMessage `json:"place"`
}

func placeKey(unit string) string { return placePrefix + unitID(unit) }

// followPlaces writes the places of own units, as their states have them.
func (g *Group) followPlaces(ctx context.Context) {
	wrote := map[string]time.Time{} // by unit and term
	looked, told := time.Now(), map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(g.config.Group.Lease):
		}
		kept := map[string]time.Time{}
		for _, u := range g.running() {
			key := fmt.Sprint(u.name, " ", u.term)
			if kept[key] = wrote[key]; time.Since(wrote[key]) < placeEvery {
				continue
			}
			u.mu.Lock()
			keeper := u.keeper
			u.mu.Unlock()
			if keeper == nil {
				continue
			}
			data, _ := keeper.State()
			if g.remember(u.name, u.term, keep.Place(data)) && g.writePlace(ctx, u.name) == nil {
				kept[key] = time.Now()
			}
		}
		wrote = kept
		if time.Since(looked) > placeEvery {
			looked = time.Now()
			g.mendNotes(ctx, told)
			g.mendPlaces(ctx)
		}
	}
}

// mendPlaces writes the places of own units again that the store has lost, or that cannot be read. A unit without input writes none by itself.
func (g *Group) mendPlaces(ctx context.Context) {
	all, err := g.store.List(ctx, placePrefix)
	if err != nil {
		return // the next look tries again
	}
	there := map[string]bool{}
	for _, v := range all {
		there[v.Key] = readsAs[placed](v.Data)
	}
	for _, u := range g.running() {
		g.mu.Lock()
		_, known := g.places[u.name]
		g.mu.Unlock()
		if known && !there[placeKey(u.name)] {
			_ = g.writePlace(ctx, u.name) // as above
		}
	}
}

// writePlace writes what this member remembers of a unit's place, unless a later owner has written.
func (g *Group) writePlace(ctx context.Context, unit string) error {
	ctx, cancel := context.WithTimeout(ctx, g.config.Group.Lease)
	defer cancel()
	g.mu.Lock()
	mine := g.places[unit]
	g.mu.Unlock()
	text, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	v, err := g.store.Get(ctx, placeKey(unit))
	if errors.Is(err, group.ErrNotFound) {
		_, err = g.store.Create(ctx, placeKey(unit), text)
		return err
	}
	var there placed
	if err != nil || json.Unmarshal(v.Data, &there) == nil && there.Term > mine.Term {
		return err
	}
	_, err = g.store.Update(ctx, placeKey(unit), text, v.Version)
	return err
}

// remember keeps the place to which a unit has read its inputs. If the unit's state is lost, it may begin there. It says whether the place is another
// one than before.
func (g *Group) remember(unit string, term uint64, place json.RawMessage) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.places[unit]
	if len(place) == 0 || term < before.Term || term == before.Term && string(place) == string(before.Place) {
		return false
	}
	g.places[unit] = placed{unit, term, place}
	return true
}

// remembered is the place of the latest owner that this member or the store knows of.
func (g *Group) remembered(unit string) json.RawMessage {
	ctx, cancel := context.WithTimeout(context.Background(), g.config.Group.Lease)
	defer cancel()
	var there placed
	if v, err := g.store.Get(ctx, placeKey(unit)); err == nil {
		_ = json.Unmarshal(v.Data, &there) // if it is damaged too, the unit begins with what the broker has
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if mine := g.places[unit]; mine.Term >= there.Term {
		return mine.Place
	}
	return there.Place
}

// placeText says for the log where a unit begins.
func (b *beginning) placeText() string {
	if len(b.Cursors) == 0 {
		return "the oldest record that the broker has"
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(b.Cursors)) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprint(name, "/", b.Cursors[name].Next)
	}
	return text
}
