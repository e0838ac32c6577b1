package recorded

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/klauspost/compress/zstd"
)

// line is a record of a stream.
type line struct {
	Txn        string `json:"txn"`
	Session    string `json:"session"`
	Start, End int64
	text       []byte
	arrives    int64
}

func liveStreams(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "live", "*.jsonl.zst"))
	if err != nil || len(files) == 0 {
		t.Skip("needs the recorded streams, which stand beside the checkout in ../shared")
	}
	return files
}

func readStream(t *testing.T, file string) []line {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var lines []line
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		x := line{text: bytes.Clone(in.Bytes())}
		if err := json.Unmarshal(x.text, &x); err != nil {
			t.Fatal(err)
		}
		x.arrives = x.End
		lines = append(lines, x)
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return lines
}

// variant is a way in which a stream can reach the monitor.
type variant struct {
	name   string
	whole  bool // nothing is left out
	change func([]line) []line
}

// variants are ways in which the same stream can reach the monitor. None of them makes a
// healthy database unhealthy.
var variants = []variant{
	{"in order", true, func(ls []line) []line { return ls }},
	{"delays of 5 ms", true, delayed(5*time.Millisecond, 1)},
	{"delays of 50 ms", true, delayed(50*time.Millisecond, 1)},
	{"delays of 500 ms", true, delayed(500*time.Millisecond, 1)},
	{"half the sessions", false, func(ls []line) []line {
		kept := everyOther(ls)
		return slices.DeleteFunc(ls, func(x line) bool { return !kept[x.Session] })
	}},
	{"joined midway", false, func(ls []line) []line { return ls[len(ls)/3:] }},
	{"clocks 20 ms apart", true, func(ls []line) []line {
		ahead := everyOther(ls)
		for i := range ls {
			if x := &ls[i]; ahead[x.Session] {
				x.text = later(x, 20*time.Millisecond)
			}
		}
		return ls
	}},
}

// variantsOf are the variants of the n-th stream: all, or in the short form one. As many streams as there
// are variants have all of them.
func variantsOf(n int) (some []variant) {
	for i, v := range variants {
		if !testrun.Short() || (i+n)%len(variants) == 0 {
			some = append(some, v)
		}
	}
	return some
}

// delayed lets each record arrive up to d after its end, by the seed.
func delayed(d time.Duration, seed uint64) func([]line) []line {
	return func(ls []line) []line {
		rng := rand.New(rand.NewPCG(seed, uint64(d)))
		for i := range ls {
			ls[i].arrives = ls[i].End + rng.Int64N(int64(d))
		}
		slices.SortStableFunc(ls, func(a, b line) int { return cmp.Compare(a.arrives, b.arrives) })
		return ls
	}
}

// everyOther is the half of the sessions, by name.
func everyOther(ls []line) map[string]bool {
	var names []string
	for i := range ls {
		names = append(names, ls[i].Session)
	}
	slices.Sort(names)
	half := map[string]bool{}
	for i, name := range slices.Compact(names) {
		half[name] = i%2 == 1
	}
	return half
}

// later is the record with its times moved.
func later(x *line, d time.Duration) []byte {
	text := x.text
	for key, at := range map[string]int64{"start": x.Start, "end": x.End} {
		text = bytes.Replace(text, fmt.Appendf(nil, "%q:%d", key, at), fmt.Appendf(nil, "%q:%d", key, at+int64(d)), 1)
	}
	return text
}

// quiet is a minute of records about something else, so that the watermark passes all.
func quiet(ls []line) []byte {
	last, text := int64(0), []byte(nil)
	for i := range ls {
		last = max(last, ls[i].End)
	}
	for i := range 600 {
		at := last + int64(i+1)*int64(100*time.Millisecond)
		text = fmt.Appendf(text, `{"txn":"quiet-%d","session":"quiet","seq":%d,"status":"committed","start":%d,"end":%d,"ops":[{"op":"append","key":"unrelated","value":%d}]}`+"\n", i, i+1, at, at+1000, i)
	}
	return text
}

// counting is a sink that counts what it is given, as a pager would ring.
type counting struct {
	mu    sync.Mutex
	found map[string]int
	first map[string]finding.Finding // as each was told first, by its id
}

func (c *counting) Name() string { return "counting" }

func (c *counting) Deliver(_ context.Context, ds []alert.Delivery) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range ds {
		f := &ds[i].Finding
		key := f.Anomaly
		if f.State == finding.Withdrawn {
			key += " withdrawn"
		}
		c.found[key]++
		if _, ok := c.first[f.ID]; !ok {
			c.first[f.ID] = *f
		}
	}
	return nil
}

// lacks is one of the findings that it was not given, "" if it has all.
func (c *counting) lacks(ids []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if _, ok := c.first[id]; !ok {
			return id
		}
	}
	return ""
}

// delivered runs the service over the stream, and returns what an alerting sink was given,
// and what was counted as taken back.
func delivered(t *testing.T, ls []line, expect string, contract config.Contract) map[string]int {
	t.Helper()
	s := config.DefaultService()
	s.Watch.Contract = contract
	return run(t, s, expect, &counting{}, bytes.NewReader(append(joined(ls), quiet(ls)...)))
}

// joined is the text of the stream.
func joined(ls []line) (text []byte) {
	for i := range ls {
		text = append(append(text, ls[i].text...), '\n')
	}
	return text
}

// run is delivered, with all settings, over what stdin has.
func run(t *testing.T, s config.Service, expect string, sink *counting, stdin io.Reader) map[string]int {
	t.Helper()
	s.Data, s.HTTP.Address, s.Inputs = filepath.Join(t.TempDir(), "data"), config.Off, []config.Input{{Stdin: true}}
	if err := s.Watch.SetExpect(expect); err != nil {
		t.Fatal(err)
	}
	sink.found, sink.first = map[string]int{}, map[string]finding.Finding{}
	a, err := app.New(app.Options{Config: s, Stdin: stdin, Sinks: []alert.Route{{Sink: sink}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.Done():
	case <-time.After(5 * time.Minute):
		t.Fatal("the stream does not end")
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, x := range a.Status().Sources {
		for cause, n := range map[string]int64{
			"record": x.Counters.WithdrawnRecord, "outcome": x.Counters.WithdrawnOutcome, "repetition": x.Counters.WithdrawnRepetition, "another cause": x.Counters.WithdrawnOther,
		} {
			if n > 0 {
				sink.found["withdrawn by "+cause] = int(n)
			}
		}
	}
	return sink.found
}

// promised returns what the database behind a stream promises, by the stream's name.
func promised(name string) string {
	for prefix, expect := range map[string]string{
		"pg-serializable": "postgresql/serializable", "pg-repeatable-read": "postgresql/repeatable-read",
		"pg-read-committed": "postgresql/read-committed", "mariadb-serializable": "mariadb/serializable", "sqlite": "strong-session-serializable",
	} {
		if strings.HasPrefix(name, prefix) {
			return expect
		}
	}
	return "read-uncommitted"
}

// A healthy database rings no bell, whatever its application writes, and however its records
// arrive. Nothing that was told is taken back.
func TestHealthyDatabasesAreSilent(t *testing.T) {
	for n, file := range liveStreams(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.zst")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, v := range variantsOf(n) {
				if got := delivered(t, v.change(readStream(t, file)), promised(name), config.LiveContract()); len(got) > 0 {
					t.Errorf("%s: delivered %v", v.name, got)
				}
			}
		})
	}
}

// captured is the contract of the streams in which each transaction is recorded, deletes too.
func captured() config.Contract {
	c := config.LiveContract()
	c.Complete, c.Existing, c.UnmonitoredWriters, c.DeletesUnseen = true, false, false, false
	return c
}

// delays is how many ways there are in which records are delayed by up to 50 and 500 ms: as many as
// ISOWATCH_DELAYS names, or else 3, and in the short form the one of the variants.
func delays(t *testing.T) uint64 {
	text := os.Getenv("ISOWATCH_DELAYS")
	switch {
	case text == "" && testrun.Short():
		return 1
	case text == "":
		return 3
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("ISOWATCH_DELAYS: %v", err)
	}
	return n
}

// The same where the contract promises more: absence shows something then. The shop's records begin
// in the middle of its data. A read that missed what had been there for long is found.
func TestCompleteCaptures(t *testing.T) {
	for n, file := range liveStreams(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.zst")
		if strings.Contains(name, "shop") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, v := range variantsOf(n) {
				if !v.whole {
					continue
				}
				if got := delivered(t, v.change(readStream(t, file)), promised(name), captured()); len(got) > 0 {
					t.Errorf("%s: delivered %v", v.name, got)
				}
			}
			for seed := uint64(2); seed <= delays(t); seed++ {
				for _, d := range []time.Duration{50 * time.Millisecond, 500 * time.Millisecond} {
					if got := delivered(t, delayed(d, seed)(readStream(t, file)), promised(name), captured()); len(got) > 0 {
						t.Errorf("delays of %v, seed %d: delivered %v", d, seed, got)
					}
				}
			}
			if !strings.Contains(name, "serializable-rows") {
				return
			}
			ls := readStream(t, file)
			at := ls[len(ls)/2].End
			for i, text := range []string{
				`{"txn":"planted-0","session":"p","seq":1,"status":"committed","start":%d,"end":%d,"ops":[{"op":"w","key":"planted","value":"a"}]}`,
				`{"txn":"planted-1","session":"p","seq":2,"status":"committed","start":%d,"end":%d,"ops":[{"op":"r","key":"planted","found":false}]}`,
			} {
				from := at + int64(i+1)*int64(time.Millisecond)
				x := line{Session: "p", Start: from, End: from + 1000, text: fmt.Appendf(nil, text, from, from+1000)}
				ls = slices.Insert(ls, len(ls)/2+1+i, x)
			}
			if got := delivered(t, ls, "strong-session-serializable", captured()); got["G-single-item-process"] != 1 || len(got) != 1 {
				t.Errorf("a planted stale read of nothing: delivered %v", got)
			}
			late := ls[len(ls)-1].End + int64(40*time.Second) // when all has left the patience, and nothing the window
			x := line{Session: "q", Start: late, End: late + 1000}
			x.text = fmt.Appendf(nil, `{"txn":"planted-2","session":"q","seq":1,"status":"committed","start":%d,"end":%d,"ops":[{"op":"r","key":"planted","value":"a"},{"op":"delete","key":"planted"}]}`, late, late+1000)
			if got := delivered(t, append(ls, x), "strong-session-serializable", captured()); got["G-single-item-process"] != 1 || len(got) != 1 {
				t.Errorf("a planted stale read of nothing, in a row that is deleted in the end: delivered %v", got)
			}
		})
	}
}
