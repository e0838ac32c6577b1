package recorded

import (
	"bytes"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/testrun"
)

// weak is a recorded stream of a database that gives less than serializability. before is how
// many certain findings against it lasted when each cycle was a finding of its own (commit
// 35a7b4d, the default contract or a declared one). Findings that share no data edge are faults
// of their own. So at least 60% must be told.
type weak struct {
	before int
	// found replaces before under the default contract: what is found today where less than 60%
	// is left, for a reason that stands beside it.
	found    int
	declared bool // captured is true of it
}

var weaker = map[string]weak{
	"pg-read-committed-mix-long":     {before: 213, declared: true},
	"pg-repeatable-read-append-long": {before: 9, declared: true},
	// Of 66. The other 62 rested on stock values, which repeat: 8,089 reads of such values are open, and
	// 29 that found nothing. With value-identity=unique, which is not true, 63 lost updates and
	// cycles stand and 307 are taken back. The four that are left are reads of one key that differ
	// in one transaction. These need no identity.
	"pg-read-committed-shop": {before: 4},
	// The stream lasts 0.26 s, with rows that are deleted and inserted again. Within a
	// clock-drift of 100 ms, a value may be from before the first record, or be written at the same
	// time. So most of its reads are open. Without drift 345 findings are told. Where the capture
	// is declared it is 416.
	"pg-repeatable-read-rows": {before: 651, found: 234, declared: true},
	// Balances repeat. All that was ever told of them was taken back.
	"pg-repeatable-read-bankraw":      {declared: true},
	"pg-repeatable-read-bankraw-long": {declared: true},
}

// weakStream is the stream of the name.
func weakStream(t *testing.T, name string) []line {
	t.Helper()
	return readStream(t, filepath.Join(folder, "live", name+".jsonl.zst"))
}

// enough runs the service over ls, and returns the findings that were told. It reports if they are
// less than 60% of least or more than most, or if one was taken back.
func enough(t *testing.T, how string, s config.Service, ls []line, least, most int) *counting {
	t.Helper()
	sink := &counting{}
	got := run(t, s, "serializable", sink, bytes.NewReader(append(joined(ls), quiet(ls)...)))
	for what := range got {
		if strings.Contains(what, "withdrawn") {
			t.Errorf("%s: delivered %v", how, got)
		}
	}
	sum := len(sink.first)
	t.Logf("%s: %d findings of %d", how, sum, most)
	if sum > most || sum*100 < least*60 {
		t.Errorf("%s: %d findings, want 60%% of %d, and at most %d: %v", how, sum, least, most, got)
	}
	return sink
}

// least is of how many findings 60% must be told under the default contract.
func (x weak) least() int {
	if x.found > 0 {
		return x.found
	}
	return x.before
}

// What the weaker databases allowed is found when more is expected of them.
func TestWeakDatabasesAreFound(t *testing.T) {
	liveStreams(t)
	for n, name := range slices.Sorted(maps.Keys(weaker)) {
		x := weaker[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, v := range variants[:3] {
				if testrun.LeavesOut(i+n, 3) {
					continue // the short form has one of the three for each stream, in turn
				}
				ls := v.change(weakStream(t, name))
				enough(t, v.name, config.DefaultService(), ls, x.least(), x.before)
				if x.declared {
					s := config.DefaultService()
					s.Watch.Contract = captured()
					enough(t, v.name+", declared", s, ls, x.before, x.before)
				}
			}
		})
	}
}

// paused is a stream that waits behind its first part until the other end says go on.
type paused struct {
	first, rest io.Reader
	reached     chan struct{} // closed when the first part has been read
	on          chan struct{}
}

func (p *paused) Read(b []byte) (int, error) {
	n, err := p.first.Read(b)
	if err != io.EOF {
		return n, err
	}
	select {
	case <-p.reached:
	default:
		close(p.reached)
	}
	<-p.on
	return p.rest.Read(b)
}

// With short settings the findings leave while the stream goes on: no later than the lateness and the
// longest transaction behind their last member.
func TestWeakDatabasesAreFoundWhileTheyRun(t *testing.T) {
	liveStreams(t)
	for name, x := range weaker {
		if x.before == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := config.DefaultService()
			s.Watch.Lateness, s.Watch.MaxTransaction = time.Second, 3*time.Second
			s.Watch.Idle = time.Hour
			ls := weakStream(t, name)
			whole := enough(t, "short settings", s, ls, x.least(), x.before)
			end := map[string]int64{}
			for _, r := range ls {
				end[r.Txn] = r.End
			}
			// The long streams stop at two thirds, the others in the middle of the quiet minute.
			part := ls[:len(ls)*2/3]
			first, now := joined(part), part[len(part)-1].End
			rest := append(joined(ls[len(part):]), quiet(ls)...)
			if ls[len(ls)-1].End-ls[0].End < int64(time.Minute) {
				q := quiet(ls)
				half := bytes.LastIndexByte(q[:len(q)/2], '\n') + 1
				first, now, rest = append(joined(ls), q[:half]...), math.MaxInt64, q[half:]
			}
			var due []string
			for id, f := range whole.first {
				last := int64(0)
				for _, txn := range f.Txns {
					last = max(last, end[txn])
				}
				// A later revision than the first was allowed before: a worse cycle has taken its place.
				if f.Revision == 1 && last < now-int64(s.Watch.Lateness+s.Watch.MaxTransaction) {
					due = append(due, id)
				}
			}
			slices.Sort(due)
			t.Logf("%d of %d findings are due", len(due), len(whole.first))
			if len(due)*2 < len(whole.first) {
				t.Errorf("only %d of %d findings are due at the pause", len(due), len(whole.first))
			}
			p := &paused{bytes.NewReader(first), bytes.NewReader(rest), make(chan struct{}), make(chan struct{})}
			live := &counting{}
			go func() {
				defer close(p.on)
				<-p.reached
				deadline := time.Now().Add(time.Minute)
				for live.lacks(due) != "" && time.Now().Before(deadline) {
					time.Sleep(20 * time.Millisecond)
				}
				if id := live.lacks(due); id != "" {
					t.Errorf("finding %s of %v was not told while the stream went on", id, whole.first[id].Txns)
				}
			}()
			run(t, s, "serializable", live, p)
		})
	}
}
