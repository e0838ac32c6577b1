package app

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/group"
)

// aboutPrefix is before the keys of records in which members tell of themselves. Nothing is decided by them.
const aboutPrefix = "about/"

// aboutMember is such a record.
type aboutMember struct {
	Member string `json:"member"`
	Life   string `json:"life,omitempty"`
	Pages  string `json:"pages,omitempty"` // where other members reach them; "": nowhere
	Odd    bool   `json:"odd,omitempty"`   // it takes no unit, since others watch with other settings
	// Differs says in which settings, if it is odd.
	Differs  string               `json:"differs,omitempty"`
	Settings map[string]string    `json:"settings,omitempty"` // what all members have to have in common
	Units    map[string]aboutUnit `json:"units,omitempty"`
}

// aboutUnit is a unit as its owner describes it.
type aboutUnit struct {
	Term     uint64  `json:"term"`
	Sources  int     `json:"sources"`
	Lag      int64   `json:"lag_records"`
	StateAge float64 `json:"state_age"` // seconds
	// Unwatched says that the owner does not watch it, and should have begun long ago.
	Unwatched bool `json:"unwatched,omitempty"`
	// UnwatchedSeconds is since when.
	UnwatchedSeconds float64 `json:"unwatched_seconds,omitempty"`
}

// aboutKeeper writes the record of this member.
type aboutKeeper struct {
	mu      sync.Mutex
	version group.Version
	begun   chan struct{} // holds a token when a unit has begun
}

// begins has the record written soon, since a unit has begun.
func (k *aboutKeeper) begins() {
	select {
	case k.begun <- struct{}{}:
	default:
	}
}

// followAbout tells of this member once in a lease, and when a unit begins.
func (g *Group) followAbout(ctx context.Context) {
	for {
		g.tellAbout(ctx)
		select {
		case <-ctx.Done():
			g.withdrawAbout()
			return
		case <-g.about.begun:
		case <-time.After(g.config.Group.Lease):
		}
	}
}

func (g *Group) aboutKey() string { return aboutPrefix + unitID(g.id) }

// tellAbout writes the record. If it cannot, the next time is soon.
func (g *Group) tellAbout(ctx context.Context) {
	x := aboutMember{Member: g.id, Odd: g.odd.Load(), Pages: g.address(), Units: map[string]aboutUnit{}}
	if x.Settings = g.config.Shared(); x.Odd {
		x.Differs, _ = g.differ.Load().(string)
	}
	g.mu.Lock()
	if g.member != nil {
		x.Life = g.member.Name()
	}
	g.mu.Unlock()
	for _, u := range g.running() {
		x.Units[u.name] = u.about()
	}
	if stuck := g.stuck(time.Now()); len(stuck) > 0 {
		for _, s := range g.member.Units() {
			if since, is := stuck[s.Unit]; is && s.Mine {
				u := x.Units[s.Unit]
				u.Term, u.Unwatched, u.UnwatchedSeconds = s.Term, true, since.Round(100*time.Millisecond).Seconds()
				x.Units[s.Unit] = u
			}
		}
	}
	text, err := json.Marshal(x)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, g.config.Group.Lease)
	defer cancel()
	k := &g.about
	k.mu.Lock()
	defer k.mu.Unlock()
	for range 2 { // a life before may have left one
		if k.version == "" {
			k.version, err = g.store.Create(ctx, g.aboutKey(), text)
		} else {
			k.version, err = g.store.Update(ctx, g.aboutKey(), text, k.version)
		}
		if err == nil {
			return
		}
		k.version = ""
		if !errors.Is(err, group.ErrConflict) {
			return
		}
		if v, err := g.store.Get(ctx, g.aboutKey()); err == nil {
			k.version = v.Version
		}
	}
}

func (g *Group) withdrawAbout() {
	ctx, cancel := context.WithTimeout(context.Background(), g.config.Group.Lease)
	defer cancel()
	g.about.mu.Lock()
	defer g.about.mu.Unlock()
	if g.about.version != "" {
		_ = g.store.Delete(ctx, g.aboutKey(), g.about.version) // otherwise the next member that joins removes it
	}
}

// cleanAbout removes records of lives that are over.
func (g *Group) cleanAbout(ctx context.Context) {
	all, err := g.store.List(ctx, aboutPrefix)
	if err != nil {
		return
	}
	leases, err := g.store.List(ctx, "member/")
	if err != nil {
		return
	}
	live := map[string]bool{}
	for _, v := range leases {
		if _, is := group.MemberOf(v); is {
			live[strings.TrimPrefix(v.Key, "member/")] = true
		}
	}
	for _, v := range all {
		var x aboutMember
		if json.Unmarshal(v.Data, &x) != nil || x.Life != "" && !live[x.Life] { // one that lives writes a damaged one again
			_ = g.store.Delete(ctx, v.Key, v.Version) // another member may have removed it
		}
	}
}

func (u *unit) about() aboutUnit {
	u.mu.Lock()
	a, keeper := u.app, u.keeper
	u.mu.Unlock()
	x := aboutUnit{Term: u.term}
	if keeper != nil {
		x.StateAge = time.Since(keeper.Status().At).Seconds()
	}
	if a != nil {
		for _, s := range a.Status().Sources {
			if transactions(&s.Counters) > 0 {
				x.Sources++
			}
		}
		for _, in := range a.inputs {
			x.Lag += in.lagging()
		}
	}
	return x
}
