package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
	"github.com/isowatch/isowatch/internal/group/keep"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/store"
)

// TestGroupHelps: a member that can read a state says so, one that cannot or that has tried says nothing, and the owner hands
// the unit to the one that can.
func TestGroupHelps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := lonelyGroup(t, "a", dir), lonelyGroup(t, "b", dir)
	a.dir, b.dir = t.TempDir(), t.TempDir()
	a.member = drive.Start(drive.Options{ID: "a", Lease: time.Second, Units: a.units, Store: a.store, Heed: a.heedQuietly()})
	t.Cleanup(func() { a.member.Stop() })
	eventually(t, "the unit is a's", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.owned["nats:S"] != nil })
	b.member = drive.Start(drive.Options{ID: "b", Lease: time.Second, Store: b.store, Heed: func(group.Event) {}})
	t.Cleanup(func() { b.member.Stop() })
	u := a.owned["nats:S"]
	state, err := keep.Fresh("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	commit := func(data []byte) {
		t.Helper()
		eventually(t, "the state is written", func() bool {
			a.member.Commit("nats:S", u.term, data, 0)
			v, err := a.store.Get(t.Context(), group.StateKey("nats:S"))
			got, _ := group.StateOf(v)
			return err == nil && string(got) == string(data)
		})
	}
	by := func(g *Group) string {
		t.Helper()
		if err := g.help(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := a.store.Get(t.Context(), u.helpKey())
		var x helpWanted
		if err != nil || json.Unmarshal(v.Data, &x) != nil {
			t.Fatal(err)
		}
		return x.By
	}
	commit([]byte("{\"format\":9}\n"))
	if _, err := u.askForHelp(errors.New("form 9")); err != nil {
		t.Fatal(err)
	}
	if got := by(b); got != "" {
		t.Errorf("%s says that it can read what it cannot", got)
	}
	b.cannot = map[string]bool{}
	commit(state)
	if got := by(a); got != "" {
		t.Errorf("%s says that it can read what it has failed to", got)
	}
	if got := by(b); got != b.member.Name() {
		t.Errorf("%q can read it, want b", got)
	}
	got, err := u.askForHelp(errors.New("form 9"))
	if err != nil || got != b.member.Name() {
		t.Fatalf("help is from %q (%v)", got, err)
	}
	eventually(t, "the unit is b's", func() bool {
		a.member.Hand("nats:S", u.term, got) // a may not have met b yet
		all := b.member.Units()
		return len(all) == 1 && all[0].Mine && all[0].Term == u.term+1
	})
}

// heedQuietly takes units, runs none, and yields them at once.
func (g *Group) heedQuietly() func(group.Event) {
	return func(e group.Event) {
		g.mu.Lock()
		defer g.mu.Unlock()
		switch e.Kind {
		case group.Gained:
			g.owned[e.Unit] = g.newUnit(e)
		case group.Yield:
			go g.member.Yielded(e.Unit, e.Term)
		}
	}
}

// TestUnreadable: what another try may mend is not taken for a state that is lost.
func TestUnreadable(t *testing.T) {
	for _, err := range []error{keep.ErrFormat, group.ErrNotFound, groupstore.ErrDamaged, store.ErrFormat, store.ErrDamaged, engine.ErrSettings, engine.ErrFault} {
		if !unreadable(fmt.Errorf("%w: %w", ErrStore, err)) {
			t.Errorf("%v is tried again for good", err)
		}
	}
	for _, err := range []error{ErrStore, errors.New("i/o timeout"), errUnitEnded, ErrInput} {
		if unreadable(err) {
			t.Errorf("%v is taken for a lost state", err)
		}
	}
}
