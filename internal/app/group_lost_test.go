package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
	"github.com/isowatch/isowatch/internal/group/keep"
	"github.com/isowatch/isowatch/internal/group/store"
)

// TestGroupLooksAtStates: an owner sees that the store has lost an object of a state, or its record, and has it made again.
func TestGroupLooksAtStates(t *testing.T) {
	t.Parallel()
	g := lonelyGroup(t, "a", t.TempDir())
	g.dir = t.TempDir()
	g.member = drive.Start(drive.Options{ID: "a", Lease: time.Second, Units: g.units, Store: g.store, Heed: g.heedQuietly()})
	t.Cleanup(func() { g.member.Stop() })
	eventually(t, "the unit is a's", func() bool { return len(g.running()) == 1 })
	if err := g.store.PutObject(t.Context(), "one", []byte("x")); err != nil {
		t.Fatal(err)
	}
	keeper, err := keep.New(keep.Options{State: []byte(`{"format":1,"base":{"format":1,"name":"b","objects":[{"name":"one","bytes":1,"sha256":"00"}]}}` + "\n")})
	if err != nil {
		t.Fatal(err)
	}
	u := g.running()[0]
	u.mu.Lock()
	u.keeper, u.app = keeper, &App{}
	u.mu.Unlock()
	if lacks := g.lacking(t.Context(), 0); len(lacks) != 0 {
		t.Fatalf("all is there, and it lacks %v", lacks)
	}
	following, stop := context.WithCancel(t.Context())
	defer stop()
	go g.followStates(following, 10*time.Millisecond, 10*time.Millisecond)
	if err := g.store.DeleteObject(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the object is missed", func() bool {
		failed := keeper.Status().Failed
		return failed != nil && strings.Contains(failed.Error(), "one")
	})
	if err := g.store.PutObject(t.Context(), "one", []byte("x")); err != nil {
		t.Fatal(err)
	}
	v, err := g.store.Get(t.Context(), group.StateKey(u.name))
	if err == nil {
		err = g.store.Delete(t.Context(), v.Key, v.Version)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range g.lacking(t.Context(), 0) {
		if strings.Contains(why.Error(), "record") {
			return
		}
	}
	t.Error("the record is not missed")
}

// TestGroupStoreIsEmptied: a member whose store was emptied says so, and writes what members share again.
func TestGroupStoreIsEmptied(t *testing.T) {
	t.Parallel()
	g := lonelyGroup(t, "a", t.TempDir())
	g.note = func(ctx context.Context) error { return store.Note(ctx, g.store, "g") }
	var log lockedBuffer
	g.log = slog.New(slog.NewTextHandler(&log, nil))
	g.heed(group.Event{Kind: group.Ended, Missing: true})
	g.heed(group.Event{Kind: group.Rewritten, Unit: "nats:S", Term: 4})
	g.all.Wait()
	if names, err := store.Names(t.Context(), g.store); err != nil || len(names) != 1 {
		t.Errorf("the name of the group is not written again: %v, %v", names, err)
	}
	if _, err := g.store.Get(t.Context(), settingsKey); err != nil {
		t.Errorf("the settings are not written again: %v", err)
	}
	if text := log.String(); strings.Count(text, "level=ERROR") != 2 || !strings.Contains(text, "it was emptied or made again") || !strings.Contains(text, "has lost the record of a unit") {
		t.Errorf("the log says %s", text)
	}
}

// chunks is an input that gives these.
type chunks []ingest.Chunk

func (s chunks) Run(ctx context.Context, _ map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	for _, c := range s {
		select {
		case out <- c:
		case <-ctx.Done():
		}
	}
	return nil
}

// TestBeginsAnewNamesRange: the gap of a unit that begins without its state, and without a place, ends where the broker's records begin.
func TestBeginsAnewNamesRange(t *testing.T) {
	at := func(name string, offset int64) ingest.Chunk {
		return ingest.Chunk{Partition: name, Cursor: ingest.Cursor{Next: offset + 1}, Messages: []ingest.Message{{Offset: offset}}}
	}
	input := chunks{{Partition: "a", CaughtUp: true}, at("a", 70), at("a", 71), {Partition: "b", Cursor: ingest.Cursor{Next: 9}}, at("b", 9), at("c", 5)}
	out := make(chan ingest.Chunk, 10)
	s := fresh{Source: input, beginning: beginning{Reason: "lost"}}
	if err := s.Run(t.Context(), map[string]ingest.Cursor{"c": {Next: 5}}, out); err != nil {
		t.Fatal(err)
	}
	close(out)
	got := map[string][]ingest.Gap{}
	for c := range out {
		got[c.Partition] = append(got[c.Partition], c.Gaps...)
	}
	for name, to := range map[string]int64{"a": 70, "b": 9} {
		if len(got[name]) != 1 || got[name][0] != (ingest.Gap{From: 0, To: to, Reason: "lost: what came before is not known"}) {
			t.Errorf("%s has the gaps %v, want one up to %d", name, got[name], to)
		}
	}
	if len(got["c"]) != 0 {
		t.Errorf("c has a cursor, and the gaps %v", got["c"])
	}
}

// TestBeginsAnewWhereNothingWasRead: one window ago nothing had been read of a partition. It begins with the oldest record, and a gap says so. The other
// partition begins at its place, and one that came later has no gap.
func TestBeginsAnewWhereNothingWasRead(t *testing.T) {
	at := func(name string, offset int64) ingest.Chunk {
		return ingest.Chunk{Partition: name, Cursor: ingest.Cursor{Next: offset + 1}, Messages: []ingest.Message{{Offset: offset}}}
	}
	input := chunks{at("a", 4), at("a", 5), at("b", 30), at("new", 0), at("again", 0)}
	s := fresh{Source: input, beginning: beginning{
		Cursors: map[string]ingest.Cursor{"a": {Next: -1}, "b": {Next: 30}, "again": {Next: -1}}, Read: map[string]int64{"a": 9, "b": 40, "again": 2}, Reason: "lost",
	}}
	out := make(chan ingest.Chunk, 10)
	if err := s.Run(t.Context(), nil, out); err != nil {
		t.Fatal(err)
	}
	close(out)
	got := map[string][]ingest.Gap{}
	for c := range out {
		got[c.Partition] = append(got[c.Partition], c.Gaps...)
	}
	for name, want := range map[string]ingest.Gap{
		"a":     {From: 0, To: 4, Reason: "lost. It was read up to 9, less than a window, and is read again from 4 on: what came before is not known"},
		"b":     {From: 0, To: 30, Reason: "lost. It was read up to 40, and is read again from 30 on, a window before: what came before is not known"},
		"again": {From: 0, To: 0, Reason: "lost. It was read up to 2, and is read again from 0 on, from the beginning of the input"},
	} {
		if len(got[name]) != 1 || got[name][0] != want {
			t.Errorf("%s has the gaps %+v, want %+v", name, got[name], want)
		}
	}
	if len(got["new"]) != 0 {
		t.Errorf("what is new has the gaps %v", got["new"])
	}
}
