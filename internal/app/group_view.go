package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/keep"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/store"
)

// GroupView is how a group stands.
type GroupView struct {
	Members []GroupMember `json:"members"`
	Units   []GroupUnit   `json:"units"`
	// Damaged are the keys of records that cannot be read.
	Damaged []string `json:"damaged,omitempty"`
}

// GroupMember is a member that lives.
type GroupMember struct {
	Member string `json:"member"`
	Units  int    `json:"units"`
	// OtherSettings says that it takes no unit: other members watch with other levels, windows or inputs.
	OtherSettings bool `json:"other_settings,omitempty"`
	// Differs says in which settings.
	Differs string `json:"differs,omitempty"`
}

// GroupUnit is how a unit of a group stands.
type GroupUnit struct {
	Unit  string `json:"unit"`
	Owner string `json:"owner,omitempty"`
	Term  uint64 `json:"term"`
	State string `json:"state"` // owned, moving, free
	// The owner tells Sources, Lag and StateAge once in a lease. They are nil if it has told nothing yet, or if there is no owner.
	Sources  *int     `json:"sources"`
	Lag      *int64   `json:"lag_records"` // messages that the broker has and the owner has not read
	StateAge *float64 `json:"state_age"`   // seconds since the state was written
	// UnwatchedSeconds is for how long its owner lives and does not watch it; nil: it watches the unit, or took it less than two leases ago.
	UnwatchedSeconds *float64 `json:"unwatched_seconds,omitempty"`
	// Split are the sources that also have records in another unit.
	Split []string `json:"split_sources,omitempty"`
}

// Standings of units.
const (
	UnitOwned  = "owned"
	UnitMoving = "moving" // its owner does not renew its lease, or has released it
	UnitFree   = "free"   // it has had no owner for longer than a lease
)

// OpenGroup opens the store of a group for reading. Without a name it is the only group there.
func OpenGroup(ctx context.Context, state, name string) (groupstore.Store, error) {
	if fault := config.CheckGroupState(state); fault != "" {
		return nil, fmt.Errorf("%w: %s", ErrConfig, fault)
	}
	if u, err := url.Parse(state); err == nil && u.Scheme == "file" { // to open it makes it
		if _, err := os.Stat(filepath.FromSlash(u.Path)); err != nil {
			return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	s, err := openGroupStore(ctx, state, nil, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	if name == "" {
		if name, err = onlyGroup(ctx, s); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return groupstore.Named(s, name), nil
}

func onlyGroup(ctx context.Context, s groupstore.Store) (string, error) {
	all, err := groupstore.Names(ctx, s)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: group state: %w", ErrConfig, err)
	case len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return "", fmt.Errorf("%w: group state: no group has written its name there: name it with --group", ErrConfig)
	}
	return "", fmt.Errorf("%w: group state: the groups there are %s: name one with --group", ErrConfig, strings.Join(all, ", "))
}

// noSuchGroup is the error for a group without units. It names the groups that the store has. It is nil
// if the store has this group.
func noSuchGroup(ctx context.Context, s groupstore.Store) error {
	if _, err := s.Get(ctx, settingsKey); !errors.Is(err, group.ErrNotFound) {
		return nil // it has members, and no units yet
	}
	all, known, err := groupstore.Neighbours(ctx, s)
	switch {
	case err != nil:
		return fmt.Errorf("%w: group state: %w", ErrConfig, err)
	case known:
		return nil // its records were removed
	case len(all) == 0:
		return fmt.Errorf("%w: group state: no group has used this store: name another one with --group-state", ErrConfig)
	}
	return fmt.Errorf("%w: group state: nobody has joined the group of this name. The groups there are %s: name one with --group", ErrConfig, strings.Join(all, ", "))
}

// look holds what a reader of a group has seen.
type look struct {
	versions map[string]group.Version
	renewed  map[string]bool // by the key of a lease, or of a member's record of itself
	live     map[string]bool // leases that are not over
	had      map[string]bool // units that had a living owner at some time
	lease    time.Duration   // of the group, as members tell it; 0: nobody does
	view     GroupView
	settled  bool // each lease was renewed, and each unit has an owner
}

// ReadGroup tells how the units of a group stand. It looks for the length of a lease. An owner that
// does not renew its lease in this time does not count.
// Without a lease it takes what members tell.
func ReadGroup(ctx context.Context, s groupstore.Store, lease time.Duration) (*GroupView, error) {
	l := look{versions: map[string]group.Version{}, renewed: map[string]bool{}, had: map[string]bool{}}
	for begin := time.Now(); ; {
		if err := l.again(ctx, s); err != nil {
			return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
		}
		if lease <= 0 {
			lease = cmp.Or(l.lease, config.DefaultLease)
		}
		if time.Since(begin) > lease || l.settled {
			break
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lease / 10):
		}
	}
	if len(l.view.Units)+len(l.view.Members) == 0 {
		if err := noSuchGroup(ctx, s); err != nil {
			return nil, err
		}
	}
	damaged, err := damagedNotes(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	l.view.Damaged = append(l.view.Damaged, damaged...)
	for i := range l.view.Units {
		if u := &l.view.Units[i]; u.State == UnitMoving && !l.had[u.Unit] {
			u.State = UnitFree
		}
	}
	split, err := splitSources(ctx, s)
	if err != nil {
		return nil, err
	}
	for i := range l.view.Units {
		u := &l.view.Units[i]
		for _, source := range slices.Sorted(maps.Keys(split)) {
			if slices.Contains(split[source], u.Unit) {
				u.Split = append(u.Split, source)
			}
		}
	}
	return &l.view, nil
}

// changes notes whether a record is renewed.
func (l *look) changes(v group.Value) {
	if was, ok := l.versions[v.Key]; ok && was != v.Version {
		l.renewed[v.Key] = true
	}
	l.versions[v.Key] = v.Version
}

func (l *look) again(ctx context.Context, s groupstore.Store) error {
	leases, err := s.List(ctx, "member/")
	if err != nil {
		return err
	}
	l.settled, l.live = true, map[string]bool{}
	var damaged []string
	for _, v := range leases {
		if !group.Readable(v) {
			damaged = append(damaged, v.Key)
		}
		if _, live := group.MemberOf(v); !live {
			delete(l.renewed, v.Key)
			continue
		}
		l.live[v.Key] = true
		l.changes(v)
		l.settled = l.settled && l.renewed[v.Key]
	}
	about, err := s.List(ctx, aboutPrefix)
	if err != nil {
		return err
	}
	units, err := s.List(ctx, "unit/")
	if err != nil {
		return err
	}
	unused, err := unusedUnits(ctx, s)
	if err != nil {
		return err
	}
	units = slices.DeleteFunc(slices.Clone(units), func(v group.Value) bool { return unused[group.UnitOf(v.Key)] })
	l.settled = l.settled && len(units) > 0
	told := map[string]aboutMember{} // by life
	l.view = GroupView{}
	for _, v := range about {
		var x aboutMember
		if json.Unmarshal(v.Data, &x) != nil { // the member writes it again
			continue
		}
		told[x.Life] = x
		if d, err := time.ParseDuration(x.Settings["lease"]); err == nil && !x.Odd {
			l.lease = max(l.lease, d)
		}
		if l.changes(v); x.Odd && l.renewed[v.Key] {
			l.view.Members = append(l.view.Members, GroupMember{Member: x.Member, OtherSettings: true, Differs: x.Differs})
		}
		l.settled = l.settled && (!x.Odd || l.renewed[v.Key])
	}
	owned := map[string]int{}
	for _, v := range units {
		owner, term, err := group.OwnerOf(v)
		if err != nil { // it is damaged: a member writes it again
			owner, term = "", 0
			damaged = append(damaged, v.Key)
		}
		u := GroupUnit{Unit: group.UnitOf(v.Key), Term: term, State: UnitMoving}
		if owner != "" && l.renewed["member/"+owner] {
			u.Owner, u.State, l.had[u.Unit] = group.IDOf(owner), UnitOwned, true
			owned[owner]++
			if x, ok := told[owner].Units[u.Unit]; ok && x.Term == term {
				if u.Sources, u.Lag, u.StateAge = &x.Sources, &x.Lag, &x.StateAge; x.Unwatched {
					u.UnwatchedSeconds, u.Sources, u.Lag, u.StateAge = &x.UnwatchedSeconds, nil, nil, nil
				}
			}
		} else {
			l.settled = false
		}
		l.view.Units = append(l.view.Units, u)
	}
	for _, key := range slices.Sorted(maps.Keys(l.live)) {
		if life := strings.TrimPrefix(key, "member/"); l.renewed[key] {
			l.view.Members = append(l.view.Members, GroupMember{Member: group.IDOf(life), Units: owned[life]})
		}
	}
	l.view.Damaged = damaged
	return nil
}

// GroupStored gives all records of a kind that a group has as JSON, by unit, the oldest first. It gives each finding once. failed is called for
// a unit whose state cannot be read as a whole: what can be read of it is given.
func GroupStored(ctx context.Context, s groupstore.Store, kind Kind, fn func(record []byte) error, failed func(unit string, err error)) error {
	of, known := map[Kind]func(*store.Entry) (string, []byte, bool){Findings: engine.Finding, DeadLetters: engine.DeadLetterIn, Panes: engine.PaneIn}[kind]
	if !known {
		return errUnknownKind
	}
	var units []group.Value
	err := patiently(ctx, func() (err error) {
		if units, err = s.List(ctx, "unit/"); err == nil && len(units) == 0 {
			units, err = s.List(ctx, "state/") // the store may have lost the records of units
		} else if err == nil {
			units, err = withPlaces(ctx, s, units)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	if len(units) == 0 {
		return noSuchGroup(ctx, s)
	}
	seen := map[string]bool{}
	for _, v := range units {
		var found [][]byte
		err := patiently(ctx, func() (err error) {
			found, err = unitStored(ctx, s, group.UnitOf(v.Key), of)
			return err
		})
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("%w: group state: unit %s: %w", ErrStore, group.UnitOf(v.Key), err)
		} else if err != nil {
			failed(group.UnitOf(v.Key), err)
		}
		for _, text := range found {
			var f struct{ ID, Source string }
			if err := json.Unmarshal(text, &f); err != nil {
				return err
			}
			if kind == Findings && seen[f.Source+"\x00"+f.ID] {
				continue
			}
			seen[f.Source+"\x00"+f.ID] = true
			if err := fn(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// patientReads is how often a reader of a group's store asks, and readPause is the time between. A store whose servers elect a
// leader does not answer for some seconds.
const (
	patientReads = 20
	missingReads = 4 // of what is not there, or is damaged: an owner may be writing it again
	readPause    = 500 * time.Millisecond
)

// patiently reads again until it succeeds.
func patiently(ctx context.Context, read func() error) (err error) {
	for try := range patientReads {
		if try > 0 {
			select {
			case <-time.After(readPause):
			case <-ctx.Done():
				return errors.Join(err, context.Cause(ctx))
			}
		}
		if err = read(); err == nil || (unreadable(err) || errors.Is(err, group.ErrRecord)) && try+1 >= missingReads {
			break
		}
	}
	return err
}

// unitStored reads records in the state of a unit. With an error it gives what it could read. With group.ErrNotFound the owner has replaced it
// meanwhile, or the store has lost an object.
func unitStored(ctx context.Context, s groupstore.Store, unit string, of func(*store.Entry) (string, []byte, bool)) (all [][]byte, err error) {
	v, err := s.Get(ctx, group.StateKey(unit))
	if errors.Is(err, group.ErrNotFound) {
		return nil, nil // it was never watched
	} else if err != nil {
		return nil, err
	}
	data, err := group.StateOf(v)
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	take := func(e store.Entry) error {
		if key, text, ok := of(&e); ok {
			if texts[key] = bytes.Clone(text); e.Delete {
				delete(texts, key)
			}
		}
		return nil
	}
	if err = keep.Read(ctx, s, data, take); err != nil {
		keep.ReadSome(ctx, s, data, take)
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, texts[key])
	}
	slices.SortStableFunc(all, func(a, b []byte) int { return cmp.Compare(foundOf(a), foundOf(b)) }) // others than findings have no time of that kind
	return all, err
}

// foundOf is a key that orders findings by the time when they were found, and by their ids.
func foundOf(text []byte) string {
	var f struct {
		At string `json:"detected_at"`
		ID string
	}
	_ = json.Unmarshal(text, &f) // it is a finding
	return strings.TrimSuffix(f.At, "Z") + " " + f.ID
}
