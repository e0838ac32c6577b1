package main

import (
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/internal/testrun"
)

// bucketOf is the JetStream of the group's store.
func (r *groupRun) bucketOf(t *testing.T) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect("nats://" + r.state.addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func deleteBuckets(t *testing.T, r *groupRun) {
	t.Helper()
	for _, name := range []string{"KV_GROUP", "OBJ_GROUP_objects"} {
		if err := r.bucketOf(t).DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

func removeFolder(t *testing.T, r *groupRun) {
	t.Helper()
	u, err := url.Parse(r.state.url(nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 { // members write there meanwhile
		if err = os.RemoveAll(u.Path); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func killMember(t *testing.T, m *groupMember) {
	t.Helper()
	m.signal(t, syscall.SIGKILL)
	m.cmd.Wait() // it was killed
}

// storeLosses list what the store of a group loses while its members run. all: nothing is left.
var storeLosses = map[string]struct {
	state string
	all   bool
	lose  func(t *testing.T, r *groupRun)
}{
	"folder removed":  {"file", true, removeFolder},
	"buckets deleted": {"nats", true, deleteBuckets},
	"buckets deleted, and a member starts": {"nats", true, func(t *testing.T, r *groupRun) {
		deleteBuckets(t, r)
		killMember(t, r.members[2])
		r.members[2].start(t)
	}},
	"units purged, and a member killed": {"nats", false, func(t *testing.T, r *groupRun) {
		stream, err := r.bucketOf(t).Stream(t.Context(), "KV_GROUP")
		if err == nil {
			err = stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.GROUP.g_unit.>"))
		}
		if err != nil {
			t.Fatal(err)
		}
		killMember(t, r.members[0])
	}},
}

// TestGroupStoreIsLost: the store of a group loses its records while members run. They say so, and watch all units again by themselves. A gap
// for each source names a state that is lost.
func TestGroupStoreIsLost(t *testing.T) {
	t.Parallel()
	records := plantedMessages(t, 3_000, 500)
	for i, name := range slices.Sorted(maps.Keys(storeLosses)) {
		if testrun.LeavesOut(i, len(storeLosses)) {
			continue
		}
		loss := storeLosses[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGroupRun(t, nil, natsGroup, loss.state)
			r.flags = []string{"--window", "1s", "--max-transaction", "1s", "--lateness", "1s"}
			for _, member := range []string{"a", "b", "c"} {
				r.start(t, member)
			}
			r.await(t, "member with each unit", func() bool {
				return r.members[0].logged("watches the unit") > 0 && r.members[1].logged("watches the unit") > 0 && r.members[2].logged("watches the unit") > 0
			})
			r.records = records[:150]
			r.publish(t.Context(), t, 5*time.Second)
			r.settle(t, nil)
			before := len(r.texts())
			if before == 0 {
				t.Fatal("nothing was found")
			}
			watches := func() (n int) {
				for _, m := range r.members {
					n += m.logged("watches the unit")
				}
				return n
			}
			began, at := watches(), time.Now()
			loss.lose(t, r)
			want := began + groupSources
			if !loss.all {
				want = began + 1
			}
			r.await(t, "members that watch all units again", func() bool { return watches() >= want })
			t.Logf("watched again after %v", time.Since(at).Round(100*time.Millisecond))
			r.records = records[150:]
			r.publish(t.Context(), t, time.Second)
			r.await(t, "findings behind the loss", func() bool { return len(r.texts()) > before+2*groupSources })
			told := 0
			for _, m := range r.members {
				emptied, rewritten := m.logged("it was emptied or made again"), m.logged("lost the record of a unit")
				if told += rewritten; loss.all && emptied > 1 || !loss.all && emptied > 0 {
					t.Errorf("%s says %d times that the store was emptied", m.name, emptied)
				}
				told += emptied
			}
			if told == 0 {
				t.Error("no member says what the store has lost")
			}
			if loss.all {
				r.await(t, "a gap for each source", func() bool {
					return r.gaps(regexp.QuoteMeta("the state of the unit is lost (its record is missing or damaged)")) == groupSources
				})
				if n := r.gaps(`"last_position":"nats:G/[1-9]`); n != groupSources {
					t.Errorf("%d gaps name what is missing: %v", n, r.texts())
				}
				if n := r.gaps(`"causes":\["The store of the group has lost`); n != groupSources {
					t.Errorf("%d gaps name the cause", n)
				}
			} else if n := r.gaps("the state of the unit is lost"); n > 0 {
				t.Errorf("%d gaps, and no state was lost: %v", n, r.texts())
			}
			r.await(t, "group that stands", func() bool {
				out, err := r.monitor("group", "--group-state", r.state.url(r.state.addresses), "--group-lease", groupLease.String(), "--output", "jsonl")
				return err == nil && strings.Count(string(out), `"state":"owned"`) == groupSources
			})
		})
	}
}
