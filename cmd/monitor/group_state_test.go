package main

import (
	"bytes"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/testrun"
)

// TestGroupStateIsLost: the states of all units are gone, cut off, or of a form that nobody knows. After two leases the units begin
// without them, a gap names what is missing, and what comes then is watched.
func TestGroupStateIsLost(t *testing.T) {
	t.Parallel()
	records := plantedMessages(t, 3_000, 500)
	damages := map[string]struct {
		change func(v group.Value) []byte // nil: the record is removed
		reason string
	}{
		"another form": {
			func(v group.Value) []byte {
				return bytes.Replace(v.Data, []byte(`"format":1`), []byte(`"format":9`), 1)
			},
			"the state of the unit is lost (the state of the unit has a form that this version does not know: form 9",
		},
		"cut off": {func(v group.Value) []byte { return v.Data[:len(v.Data)-1] }, "its record cannot be read"},
		"no objects": {
			func(v group.Value) []byte {
				return bytes.Replace(v.Data, []byte(`"base_end"`), []byte(`"base":{"name":"x","format":1,"bytes":1,"objects":[{"name":"gone","bytes":1,"sha256":"00"}]},"base_end"`), 1)
			},
			"there is no such key",
		},
		"no state": {nil, "the state of the unit is lost (its record is missing or damaged)"},
	}
	for i, name := range slices.Sorted(maps.Keys(damages)) {
		if testrun.LeavesOut(i, 3) {
			continue
		}
		damage := damages[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGroupRun(t, nil, natsGroup, "file")
			r.flags = []string{"--window", "1s", "--max-transaction", "1s", "--lateness", "1s"}
			r.start(t, "a")
			r.records = records[:150]
			r.publish(t.Context(), t, 5*time.Second)
			r.settle(t, nil)
			m := r.members[0]
			m.signal(t, syscall.SIGTERM)
			if err := m.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			before := len(r.texts())
			if before == 0 {
				t.Fatal("nothing was found")
			}
			s, err := app.OpenGroup(t.Context(), r.state.url(nil), "g")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			damageStates(t, s, damage.change)
			r.start(t, "b")
			r.records = records[150:]
			r.publish(t.Context(), t, time.Second)
			r.await(t, "a gap for each source", func() bool { return r.gaps(regexp.QuoteMeta(damage.reason)) == groupSources })
			if n := r.gaps(`"last_position":"nats:G/[1-9]`); n != groupSources {
				t.Errorf("%d gaps name what is missing:\n%v", n, r.texts())
			}
			r.await(t, "findings behind the gap", func() bool { return len(r.texts()) > before+groupSources })
			r.calls(t, s)
		})
	}
}

func damageStates(t *testing.T, s store.Store, change func(group.Value) []byte) {
	t.Helper()
	states, err := s.List(context.Background(), "state/")
	if err != nil || len(states) != groupSources {
		t.Fatalf("%d states, %v", len(states), err)
	}
	for _, v := range states {
		if change == nil {
			err = s.Delete(context.Background(), v.Key, v.Version)
		} else {
			_, err = s.Update(context.Background(), v.Key, change(v), v.Version)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// gaps counts the findings of lost input that match.
func (r *groupRun) gaps(pattern string) (n int) {
	expected := regexp.MustCompile(pattern)
	for _, text := range r.texts() {
		if strings.Contains(text, `"anomaly":"gap"`) && expected.MatchString(text) {
			n++
		}
	}
	return n
}

func (r *groupRun) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * groupPatience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s:\n%v", what, r.texts())
		}
	}
}

// calls: nobody asks for help any more.
func (r *groupRun) calls(t *testing.T, s store.Store) {
	t.Helper()
	r.await(t, "end of the requests", func() bool {
		all, err := s.List(context.Background(), "unreadable/")
		return err == nil && len(all) == 0
	})
}
