package app

import (
	"context"
	bin "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/web"
	"github.com/isowatch/isowatch/store"
)

var shelfNow = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// shelved is a store of findings, as an engine writes it, with a shelf over it.
type shelved struct {
	t      testing.TB
	store  *store.Store
	shelf  *shelf
	orders map[string]uint64
	all    map[string]finding.Finding
	last   uint64
}

func newShelved(t testing.TB, st *store.Store) *shelved {
	x := &shelved{t: t, store: st, orders: map[string]uint64{}, all: map[string]finding.Finding{}}
	x.restart(0)
	return x
}

// restart begins with an empty catalog of so many findings.
func (x *shelved) restart(most int) {
	x.shelf = newShelf(engine.Reader{Store: x.store}, 0, func() time.Time { return shelfNow }, slog.New(slog.DiscardHandler))
	x.shelf.catalog = catalog.New(most, 0)
	if err := x.shelf.recall(); err != nil {
		x.t.Fatal(err)
	}
}

// write stores findings as a step does, and removes others.
func (x *shelved) write(list []finding.Finding, fallen ...string) {
	x.t.Helper()
	var entries []store.Entry
	var ids []string
	for _, f := range list {
		order := x.orders[f.ID]
		if order == 0 {
			x.last++
			order = x.last
			x.orders[f.ID] = order
			entries = append(entries, store.Entry{Space: 'i', Key: bin.BigEndian.AppendUint64(nil, order), Value: []byte(f.ID)})
		}
		text, err := json.Marshal(&f)
		if err != nil {
			x.t.Fatal(err)
		}
		entries = append(entries, store.Entry{Space: 'f', Key: []byte(f.ID), Value: append(bin.BigEndian.AppendUint64(nil, order), text...)})
		ids = append(ids, f.ID)
		x.all[f.ID] = f
	}
	for _, id := range fallen {
		entries = append(entries, x.removal(id)...)
		ids = append(ids, id)
	}
	if err := x.store.Commit(entries); err != nil {
		x.t.Fatal(err)
	}
	x.shelf.changed(ids, 0)
}

func (x *shelved) removal(id string) []store.Entry {
	order := x.orders[id]
	delete(x.orders, id)
	delete(x.all, id)
	return []store.Entry{{Space: 'f', Key: []byte(id), Delete: true}, {Space: 'i', Key: bin.BigEndian.AppendUint64(nil, order), Delete: true}}
}

// forget removes the findings up to an order, as retention does.
func (x *shelved) forget(order uint64) {
	var entries []store.Entry
	for _, id := range x.newestFirst() {
		if x.orders[id] <= order {
			entries = append(entries, x.removal(id)...)
		}
	}
	if err := x.store.Commit(entries); err != nil {
		x.t.Fatal(err)
	}
	x.shelf.changed(nil, order)
}

func (x *shelved) newestFirst() []string {
	return slices.SortedFunc(maps.Keys(x.orders), func(a, b string) int { return int(x.orders[b]) - int(x.orders[a]) })
}

// wants says whether the finding is one that the query asks for.
func (x *shelved) wants(f *finding.Finding, q *web.Query) bool {
	g := catalog.GroupOf(f)
	m := x.shelf.Marks(g.Key())
	if q.Text != "" {
		inHistory := slices.ContainsFunc(f.History, func(h json.RawMessage) bool { return strings.Contains(string(h), `"`+q.Text+`"`) })
		if !inHistory && f.ID != q.Text && f.Edges[0].Key != q.Text && !slices.Contains(f.Txns, q.Text) && !slices.ContainsFunc(slices.Concat(g.Names, g.Keys, g.Endpoints), func(s string) bool { return strings.Contains(s, q.Text) }) {
			return false
		}
	}
	return (q.Source == "" && f.Source != config.SelfTestSource || q.Source == f.Source) && (q.Anomaly == "" || q.Anomaly == f.Anomaly) &&
		(q.State == "" || q.State == f.State) && (q.Expected == "" || q.Expected == fmt.Sprint(f.Expected)) && (q.Group == "" || q.Group == g.Key()) &&
		(q.Acknowledged == "" || q.Acknowledged == fmt.Sprint(m.Acknowledged != nil))
}

func anyFinding(r *rand.Rand, id string) finding.Finding {
	pick := func(of string, n int) string { return fmt.Sprint(of, r.IntN(n)) }
	f := finding.Finding{
		ID: id, Source: []string{"orders", "stock", config.SelfTestSource}[r.IntN(3)], Kind: finding.KindViolation, Anomaly: pick("G", 3),
		State: []finding.State{finding.Waiting, finding.Provisional, finding.Final, finding.Withdrawn}[r.IntN(4)],
		Txns:  []string{"a" + id, "b" + id}, Names: map[string]string{"a" + id: pick("name", 3)}, Expected: r.IntN(3) == 0, Certain: true,
		Edges:   []finding.Edge{{Key: pick("cart:", 50)}},
		FoundAt: shelfNow.Add(-time.Duration(r.Int64N(1e15))).Format(time.RFC3339Nano),
	}
	f.History = []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"txn":"a%s","session":"s%d","ops":[{"op":"r","key":"cart:%d"}]}`, id, r.IntN(9), r.IntN(50)))}
	return f
}

// What the pages are told is what a look at all stored findings tells: while the index is filled,
// while findings come, change, fall and are removed, and where old ones have no room.
func TestShelfAgainstStore(t *testing.T) {
	for seed := range testrun.Size(2, 5) {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		x := newShelved(t, st)
		next := 0
		some := func(n int) (list []finding.Finding) {
			for range n {
				next++
				list = append(list, anyFinding(r, fmt.Sprint("id", next)))
			}
			return list
		}
		x.write(some(r.IntN(900)))
		x.restart([]int{0, 50, 300}[r.IntN(3)])
		for range 40 {
			ids := x.newestFirst()
			switch r.IntN(7) {
			case 0, 1:
				x.write(some(r.IntN(30)))
			case 2:
				if len(ids) > 0 {
					x.write([]finding.Finding{anyFinding(r, ids[r.IntN(len(ids))])}, ids[0])
				}
			case 3:
				if len(ids) > 0 && r.IntN(4) == 0 {
					x.forget(x.orders[ids[len(ids)-1]] + uint64(r.IntN(100)))
				}
			case 4, 5:
				if _, err := x.shelf.fill(); err != nil {
					t.Fatal(err)
				}
			case 6:
				if len(ids) > 0 {
					f := x.all[ids[0]]
					g := catalog.GroupOf(&f)
					if _, err := x.shelf.Mark(g.Key(), func(m *catalog.Marks) { m.Acknowledged = &catalog.Mark{Who: "me", Why: "x", At: 1} }); err != nil && x.shelf.catalog.Len() > 0 && !x.shelf.filling {
						t.Errorf("seed %d: a group that is in the index: %v", seed, err)
					}
				}
				if r.IntN(10) == 0 {
					x.shelf.pending.lost = true
				}
			}
			q := web.Query{Limit: 8 + r.IntN(40)}
			switch r.IntN(8) {
			case 0:
				q.Source = "stock"
			case 1:
				q.Anomaly, q.State = "G1", finding.Waiting
			case 2:
				q.Text = []string{"s3", "cart:7", "name1", "aid17", "id9", "cart:#"}[r.IntN(6)]
			case 3:
				q.Expected = "true"
			case 4:
				q.Acknowledged = []string{"true", "false"}[r.IntN(2)]
			case 5:
				if ids := x.newestFirst(); len(ids) > 0 {
					f := x.all[ids[r.IntN(len(ids))]]
					q.Group = groupKeyOf(&f)
				}
			}
			var want, got []string
			for _, id := range x.newestFirst() {
				if f := x.all[id]; x.wants(&f, &q) {
					want = append(want, id)
				}
			}
			for pages := 0; ; pages++ {
				page, next, err := x.shelf.List(q)
				if err != nil || pages > 2000 {
					t.Fatalf("seed %d: %v on page %d", seed, err, pages)
				}
				for i := range page {
					got = append(got, page[i].ID)
				}
				if q.Before = next; next == "" {
					break
				}
			}
			q.Before = ""
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: %+v:\n%q, want\n%q", seed, q, got, want)
			}
			groups, index, err := x.shelf.Groups(q, catalog.ByLast, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if !index.Filling && !index.Full && groups.Findings != len(want) {
				t.Fatalf("seed %d: %+v: %d findings in groups, want %d", seed, q, groups.Findings, len(want))
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func groupKeyOf(f *finding.Finding) string {
	g := catalog.GroupOf(f)
	return g.Key()
}

// Until all findings have been looked at, a group that is not known may still be found.
func TestMarkWhileFilling(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := newShelved(t, st)
	f := anyFinding(rand.New(rand.NewPCG(1, 1)), "id")
	f.Source = "orders"
	x.write([]finding.Finding{f})
	x.restart(0)
	mark := func(key string) error {
		_, err := x.shelf.Mark(key, func(m *catalog.Marks) { m.Acknowledged = &catalog.Mark{Who: "me", Why: "x", At: 1} })
		return err
	}
	g := catalog.GroupOf(&f)
	if err := mark(g.Key()); !errors.Is(err, web.ErrFilling) {
		t.Errorf("while it is filled: %v", err)
	}
	if _, err := x.shelf.fill(); err != nil || x.shelf.filling {
		t.Fatal("it is still filled")
	}
	if err := mark(g.Key()); err != nil {
		t.Errorf("filled: %v", err)
	}
	if err := mark("nobody"); !errors.Is(err, web.ErrNoGroup) {
		t.Errorf("a group that is not: %v", err)
	}
}

// New findings take the room of old ones while the index is filled, and after all in it fell: lists
// still have all.
func TestShelfIsFull(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := newShelved(t, st)
	r := rand.New(rand.NewPCG(1, 1))
	some := func(from, to int) (list []finding.Finding) {
		for n := from; n < to; n++ {
			list = append(list, anyFinding(r, fmt.Sprint("id", n)))
			list[n-from].Source = "orders"
		}
		return list
	}
	has := func(when string) {
		t.Helper()
		page, next, err := x.shelf.List(web.Query{Limit: 1000})
		if err != nil || next != "" || len(page) != len(x.all) {
			t.Errorf("%s: %d findings, want %d; the next page is %q, %v", when, len(page), len(x.all), next, err)
		}
	}
	x.write(some(0, 450))
	x.restart(shelfChunk + 10)
	if more, err := x.shelf.fill(); !more || err != nil {
		t.Fatalf("it is full after %d findings: %v", x.shelf.catalog.Len(), err)
	}
	x.write(some(450, 500))
	has("while it is filled")
	if _, err := x.shelf.fill(); err != nil || x.shelf.filling {
		t.Fatal("it is still filled")
	}
	has("full")
	ids := x.newestFirst()[:x.shelf.catalog.Len()]
	x.write(nil, ids[:100]...)
	x.write(nil, ids[100:]...)
	for more := true; more; {
		if more, err = x.shelf.catchUp(); err != nil {
			t.Fatal(err)
		}
	}
	if n := x.shelf.catalog.Len(); n != 0 {
		t.Fatalf("%d findings are left in the index", n)
	}
	has("empty")
}

// Ids of which there are too many are not kept: all is read again.
func TestShelfWithTooManyChanges(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := newShelved(t, st)
	x.write([]finding.Finding{anyFinding(rand.New(rand.NewPCG(1, 1)), "one")})
	for n := range shelfPending + 10 {
		x.shelf.changed([]string{fmt.Sprint("none", n)}, 0)
	}
	if n := len(x.shelf.pending.ids); n > shelfPending || !x.shelf.pending.lost {
		t.Errorf("%d ids wait", n)
	}
	for more := true; more; {
		if more, err = x.shelf.catchUp(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.shelf.fill(); err != nil || x.shelf.catalog.Len() != 1 || x.shelf.filling {
		t.Errorf("%d findings, still filling: %v, %v", x.shelf.catalog.Len(), x.shelf.filling, err)
	}
}

// What was said of a group is there after a restart, and where nobody says it any more, it is not.
func TestMarksAreKept(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := newShelved(t, st)
	f := anyFinding(rand.New(rand.NewPCG(1, 1)), "one")
	x.write([]finding.Finding{f})
	key := groupKeyOf(&f)
	want := catalog.Marks{Silenced: &catalog.Mark{Who: "ann", Why: "noise", At: 3, Until: 9}}
	if _, err := x.shelf.Mark(key, func(m *catalog.Marks) { *m = want }); err != nil {
		t.Fatal(err)
	}
	x.restart(0)
	if got := x.shelf.Marks(key); got.Silenced == nil || *got.Silenced != *want.Silenced || got.Acknowledged != nil {
		t.Errorf("after a restart: %+v", got)
	}
	if _, err := x.shelf.Mark(key, func(m *catalog.Marks) { *m = catalog.Marks{} }); err != nil {
		t.Fatal(err)
	}
	x.restart(0)
	if got := x.shelf.Marks(key); got != (catalog.Marks{}) {
		t.Errorf("taken back, and after a restart: %+v", got)
	}
	if _, err := x.shelf.fill(); err != nil || x.shelf.filling {
		t.Fatal("it is still filled")
	}
	if _, err := x.shelf.Mark("0123456789abcdef", func(*catalog.Marks) {}); err != web.ErrNoGroup {
		t.Errorf("of a group that is none: %v", err)
	}
}

// What was said of a group of a probe by a program that left the epoch in the group's keys is moved to the group of today. It
// has the latest of all epochs.
func TestMarksOfOldGroups(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := newShelved(t, st)
	var key string
	var former []string
	for i, epoch := range []string{"ehomsjfwwrz7e371o", "ehomsono526ahk6rk"} {
		f := finding.Finding{ID: epoch, Source: "canary", Epoch: epoch, Anomaly: "lost-update", Kind: finding.KindViolation, Edges: []finding.Edge{{Key: epoch + "/k017"}}}
		x.write([]finding.Finding{f})
		key = groupKeyOf(&f)
		f.Epoch = ""
		former = append(former, groupKeyOf(&f))
		m := catalog.Marks{Silenced: &catalog.Mark{Who: "ann", At: int64(i) + 1}}
		if i == 0 {
			m.Acknowledged = &catalog.Mark{Who: "bob", At: 1}
		}
		if err := x.shelf.setMarks(former[i], m); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		x.restart(0)
		if _, err := x.shelf.fill(); err != nil {
			t.Fatal(err)
		}
		if m := x.shelf.Marks(key); m.Acknowledged == nil || m.Acknowledged.Who != "bob" || m.Silenced == nil || m.Silenced.At != 2 {
			t.Errorf("of the group is said %+v", m)
		}
		for _, key := range former {
			if m := x.shelf.Marks(key); m != (catalog.Marks{}) {
				t.Errorf("of the former group is said %+v", m)
			}
		}
	}
}

// Requests, commits and the goroutine that keeps the index up go on at the same time. In the end all
// is in it.
func TestShelfAtOnce(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := newShelved(t, st)
	r := rand.New(rand.NewPCG(1, 1))
	ctx, cancel := context.WithCancel(t.Context())
	var done, asking sync.WaitGroup
	done.Go(func() { x.shelf.run(ctx) })
	for range 2 {
		asking.Go(func() {
			for n := range 100 {
				if _, _, err := x.shelf.List(web.Query{Limit: 10, Text: fmt.Sprint("cart:", n)}); err != nil {
					t.Error(err)
				}
				if _, _, err := x.shelf.Groups(web.Query{}, catalog.ByCount, 0, 10); err != nil {
					t.Error(err)
				}
				x.shelf.bytes()
			}
		})
	}
	for n := range 100 {
		var list []finding.Finding
		for i := range 20 {
			list = append(list, anyFinding(r, fmt.Sprint("id", n*10+i))) // half of them are revisions
		}
		x.write(list)
	}
	asking.Wait()
	groups, index, err := x.shelf.Groups(web.Query{}, catalog.ByCount, 0, 1000)
	for more := true; more && err == nil; {
		more, err = x.shelf.catchUp()
	}
	eventually(t, "the index", func() bool {
		groups, index, err = x.shelf.Groups(web.Query{}, catalog.ByCount, 0, 1000)
		return err == nil && !index.Filling && index.Findings == len(x.all)
	})
	want := 0
	for _, f := range x.all {
		if f.Source != config.SelfTestSource {
			want++
		}
	}
	if groups.Findings != want {
		t.Errorf("%d findings in groups, want %d", groups.Findings, want)
	}
	cancel()
	done.Wait()
}
