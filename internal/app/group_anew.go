package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/keep"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// helpPrefix is before the keys of records that ask for a member that can read the state of a unit.
const helpPrefix = "unreadable/"

// helpWanted is such a record.
type helpWanted struct {
	Unit  string   `json:"unit"`
	Tried []string `json:"tried"` // lives that could not read it
	By    string   `json:"by,omitempty"`
	Why   string   `json:"why"`
}

// unreadable says whether err is of a state that is damaged, or of a layout or of settings that this member does not know.
func unreadable(err error) bool {
	return slices.ContainsFunc([]error{
		groupstore.ErrDamaged, keep.ErrFormat, group.ErrNotFound, store.ErrFormat, store.ErrDamaged, engine.ErrSettings, engine.ErrFault,
	}, func(kind error) bool { return errors.Is(err, kind) })
}

// salvage is called with a state that this member cannot read. It leaves the unit to a member that can. If there is none within two
// leases, the unit begins without it. It gives the state to go on from.
func (u *unit) salvage(data []byte, why error) (next []byte, err error) {
	lease := u.g.config.Group.Lease
	u.asking.Store(true)
	defer u.asking.Store(false)
	u.log.Warn("the state of the unit cannot be read here: another member takes it if it can", "err", why)
	u.log.Info("waits for a member that can read the state: after two leases the unit begins without it", "for", (2 * lease).String())
	for end := time.Now().Add(2 * lease); time.Now().Before(end) && !u.ends(); u.pause(lease / 4) {
		by, err := u.askForHelp(why)
		if err != nil {
			u.log.Warn("no member can be asked to read the state", "err", err)
		}
		if by != "" {
			u.log.Info("hands the unit to a member that can read its state", "to", group.IDOf(by))
			u.g.member.Hand(u.name, u.term, by)
		}
	}
	if u.ends() {
		return data, errUnitEnded
	}
	place := keep.Place(data)
	if b := beginningIn(place); !b.known() {
		place = u.g.remembered(u.name)
	}
	return u.beginAnew(place, why)
}

// pause waits, unless the unit ends.
func (u *unit) pause(d time.Duration) {
	select {
	case <-u.stopping:
	case <-time.After(d):
	}
}

func (u *unit) helpKey() string { return helpPrefix + unitID(u.name) }

// askForHelp notes that this life cannot read the state. It returns a life that can read it, once one
// has answered.
func (u *unit) askForHelp(why error) (by string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), u.g.config.Group.Lease)
	defer cancel()
	v, err := u.g.store.Get(ctx, u.helpKey())
	missing := errors.Is(err, group.ErrNotFound)
	if err != nil && !missing {
		return "", err
	}
	x := helpWanted{Unit: u.name}
	if !missing && json.Unmarshal(v.Data, &x) != nil { // it is damaged, and is written again
		x = helpWanted{Unit: u.name}
	}
	if x.By != "" && x.By != u.life && slices.Contains(x.Tried, u.life) {
		return x.By, nil
	}
	if slices.Contains(x.Tried, u.life) && x.By == "" {
		return "", nil
	}
	x.Tried, x.By, x.Why = append(x.Tried, u.life), "", why.Error()
	text, err := json.Marshal(x)
	if err == nil && missing {
		_, err = u.g.store.Create(ctx, u.helpKey(), text)
	} else if err == nil {
		_, err = u.g.store.Update(ctx, u.helpKey(), text, v.Version)
	}
	return "", err
}

// readsWell removes the note that a member could not read the state.
func (u *unit) readsWell() {
	ctx, cancel := context.WithTimeout(context.Background(), u.g.config.Group.Lease)
	defer cancel()
	if v, err := u.g.store.Get(ctx, u.helpKey()); err == nil {
		_ = u.g.store.Delete(ctx, u.helpKey(), v.Version) // otherwise the request would stay, and name lives that have ended
	}
}

// help looks whether this member can read a state that others cannot.
func (g *Group) help(ctx context.Context) error {
	all, err := g.store.List(ctx, helpPrefix)
	if err != nil {
		return err
	}
	me := g.member.Name()
	var faults []error
	for _, v := range all {
		var x helpWanted
		if json.Unmarshal(v.Data, &x) != nil { // a member that asks still writes it again
			if err := g.store.Delete(ctx, v.Key, v.Version); !errors.Is(err, group.ErrConflict) {
				faults = append(faults, err)
			}
			continue
		}
		if x.By != "" || slices.Contains(x.Tried, me) || g.cannot[me+string(v.Version)] {
			continue
		}
		if err := g.tryToRead(ctx, x.Unit); err != nil {
			g.cannot[me+string(v.Version)] = true
			continue
		}
		x.By = me
		text, err := json.Marshal(x)
		if err == nil {
			_, err = g.store.Update(ctx, v.Key, text, v.Version)
		}
		if !errors.Is(err, group.ErrConflict) { // else another one was faster
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// tryToRead fills a store of its own with the state.
func (g *Group) tryToRead(ctx context.Context, name string) error {
	v, err := g.store.Get(ctx, group.StateKey(name))
	if err != nil {
		return err
	}
	data, err := group.StateOf(v)
	if err != nil {
		return err
	}
	dir := filepath.Join(g.dir, "try-"+unitID(name))
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	st, err := store.OpenContext(ctx, dir, store.Options{Logger: g.log})
	if err != nil {
		return err
	}
	defer st.Close()
	if err := keep.Restore(ctx, g.store, data, st); err != nil {
		return err
	}
	return engine.Readable(st)
}

// beginAnew writes a state that begins at the place, or at what the broker has if there is none.
func (u *unit) beginAnew(place json.RawMessage, why error) ([]byte, error) {
	b := beginningIn(place)
	b.Reason = fmt.Sprintf(window.StateLost+" (%v)", why)
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	data, err := keep.Fresh(BuildInfo()[0], text)
	if err != nil {
		return nil, err
	}
	u.log.Error("the unit begins without its state", "from", b.placeText(), "err", why)
	for !u.ends() {
		select {
		case <-u.rewritten: // of a write before
		default:
		}
		if u.g.member.Commit(u.name, u.term, data, 0) {
			select {
			case <-u.rewritten:
				u.readsWell()
				return data, nil
			case <-u.stopping:
			}
		}
		u.pause(u.g.config.Group.Lease / 10)
	}
	return data, errUnitEnded
}

// fresh asks for a snapshot, and says whether it is there.
func (u *unit) fresh() bool {
	u.mu.Lock()
	a := u.app
	u.mu.Unlock()
	return a == nil || a.engine == nil || a.engine.Fresh()
}

// fresh is an input of a unit that begins without its state.
type fresh struct {
	ingest.Source
	beginning
}

// beginsAnew wraps the input of a unit that has lost its state.
func (u *unit) beginsAnew(source ingest.Source) ingest.Source {
	text := u.begin
	if text == nil {
		return source
	}
	x := fresh{Source: source}
	if json.Unmarshal(text, &x.beginning) != nil {
		return source
	}
	return x
}

// gap tells that the state of what came before an offset is lost.
func (s fresh) gap(partition string, begins int64) []ingest.Gap {
	return []ingest.Gap{{From: 0, To: begins, Reason: s.why(partition, begins)}}
}

// Reread implements [ingest.Rereader].
func (s fresh) Reread(ctx context.Context, partition string, offset int64) ([]byte, error) {
	if again, ok := s.Source.(ingest.Rereader); ok {
		return again.Reread(ctx, partition, offset)
	}
	return nil, ingest.ErrNotHere
}

// Run implements [ingest.Source]. A cursor of the engine counts more than the beginning. Without a place to begin at, what comes before the
// first record that the broker has is not known.
func (s fresh) Run(ctx context.Context, from map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	if from == nil {
		from = map[string]ingest.Cursor{}
	}
	var chunks []ingest.Chunk
	waits := map[string]bool{} // the partitions whose gap ends with the first record
	for _, name := range slices.Sorted(maps.Keys(s.Cursors)) {
		if _, ok := from[name]; ok {
			continue
		}
		if s.unread(name) {
			waits[name] = true
			continue
		}
		from[name] = s.Cursors[name]
		chunks = append(chunks, ingest.Chunk{Partition: name, Cursor: s.Cursors[name], Gaps: s.gap(name, s.Cursors[name].Next)})
	}
	for _, c := range chunks {
		select {
		case out <- c:
		case <-ctx.Done():
			return nil
		}
	}
	if len(s.Cursors) > 0 && len(waits) == 0 {
		return s.Source.Run(ctx, from, out)
	}
	told := map[string]bool{}
	for name := range from {
		told[name] = true
	}
	read := make(chan ingest.Chunk)
	ended := make(chan error, 1)
	go func() {
		defer close(read)
		ended <- s.Source.Run(ctx, from, read)
	}()
	for c := range read {
		if first := firstOf(&c); !told[c.Partition] && first >= 0 && (waits[c.Partition] || len(s.Cursors) == 0) {
			told[c.Partition] = true
			c.Gaps = append(s.gap(c.Partition, first), c.Gaps...)
		}
		select {
		case out <- c:
		case <-ctx.Done():
		}
	}
	return <-ended
}

// firstOf is where a chunk begins: what came before is not known. Below 0: the chunk does not tell.
func firstOf(c *ingest.Chunk) int64 {
	switch {
	case len(c.Messages) > 0:
		return c.Messages[0].Offset
	case len(c.Gaps) > 0 && c.Gaps[0].To > c.Gaps[0].From:
		return c.Gaps[0].From
	}
	if c.Cursor.Next > 0 {
		return c.Cursor.Next
	}
	return -1
}
