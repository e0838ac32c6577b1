//go:build integration

package live

import (
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

const (
	// lastsEnv is how long the databases are used, lasts the default. With default settings
	// an alert may be held back for 35 s, so it must be longer than that.
	lastsEnv = "ISOWATCH_LIVE"
	lasts    = 65 * time.Second
	least    = 60 * time.Second
	// seedEnv names the seed that sessions and publishers draw from.
	seedEnv = "ISOWATCH_LIVE_SEED"
	// declaredEnv adds a monitor that is told that the capture is complete and has its
	// deletes. The machine must have a core for it.
	declaredEnv = "ISOWATCH_LIVE_DECLARED"
	// folderEnv names a folder that gets the records of each source, as JSON lines in the
	// order in which they were made.
	folderEnv = "ISOWATCH_LIVE_DIR"
)

// stagger is between the starts of two cells: several hundred connections at once would
// delay records beyond the lateness.
const stagger = 20 * time.Millisecond

// load returns what each cell's sessions do. All cells together make 1,400 transactions a
// second, 1,900 records of them, which databases and monitors do in some 60 s of CPU
// time a minute.
func load(c cell, seed uint64, duration time.Duration) probe.Options {
	o := probe.Options{
		Source: c.source(), Sessions: 5, Keys: 10, Rate: 15, Think: 6 * time.Millisecond, Aborted: 0.03, Duration: duration, Seed: seed,
	}
	switch {
	case c.name == "read-uncommitted" && c.mustBeFound(): // reads of what has not been committed are rare
		o.Rate = 60
	case c.mustBeFound():
		o.Rate = 30
	}
	return o
}

// TestLive runs every workload on every database at every setting, all at once, and
// has two monitors judge them while they run: one that waits as little as the delays
// allow, and one with default settings.
func TestLive(t *testing.T) {
	duration, seed := durationFrom(t, lastsEnv, lasts), numberFrom(t, seedEnv, 1)
	t.Logf("%s=%v %s=%d", lastsEnv, duration, seedEnv, seed)
	began := time.Now()
	databases := startServers(t)
	p, url := startPublisher(t, seed)
	program := buildMonitor(t)
	expect := map[string]string{}
	for _, c := range cells() {
		expect[c.source()] = c.promise
		if c.stronger != "" {
			expect[c.strongerSource()] = c.stronger
		}
	}
	monitors := []*monitor{
		{name: "prompt", lateness: time.Second, maxTransaction: 3 * time.Second, hook: newWebhook(t)},
		{name: "default", lateness: 5 * time.Second, maxTransaction: 30 * time.Second, hook: newWebhook(t)},
	}
	startMonitor(t, monitors[0], program, url, "watch: {lateness: 1s, max-transaction: 3s}", expect)
	startMonitor(t, monitors[1], program, url, "", expect)
	if os.Getenv(declaredEnv) != "" {
		m := &monitor{name: "declared", lateness: time.Second, maxTransaction: 3 * time.Second, hook: newWebhook(t)}
		startMonitor(t, m, program, url, "watch: {lateness: 1s, max-transaction: 3s, contract: {capture: complete, unmonitored-writers: no, deletes: recorded}}", expect)
		monitors = append(monitors, m)
	}

	s := newStreams(t, p)
	t.Logf("started after %v", time.Since(began).Round(time.Millisecond))
	runCells(t, databases, s, seed, duration)
	end := time.Now()
	sent := p.finish(t)
	s.finish(t)
	t.Logf("streams of %d records ended after %v", sent, time.Since(began).Round(time.Millisecond))
	for _, m := range monitors {
		m.awaitQuiet(t, sent, end)
		t.Logf("%s: quiet after %v", m.name, time.Since(began).Round(time.Millisecond))
		judge(t, m, s, end)
	}
}

// runCells fills the tables of all cells, and then runs all cells at once.
func runCells(t *testing.T, databases servers, s *streams, seed uint64, duration time.Duration) {
	t.Helper()
	var run []func() error
	var mu sync.Mutex
	each(t, func(i int, c cell) error {
		db, err := databases.open(c)
		if err != nil {
			return err
		}
		t.Cleanup(func() { db.Close() })
		o := load(c, seed<<16+uint64(i), duration)
		filled, err := probe.Fill(t.Context(), db, c.workload, o)
		mu.Lock()
		defer mu.Unlock()
		run = append(run, func() error {
			if name := c.workload.Name(); name != "shop" && name != "tpcb" { // these were there before watching began
				s.emit(c, filled)
			}
			return probe.Run(t.Context(), db, c.workload, o, func(r event.Record) { s.emit(c, r) })
		})
		return err
	})
	each(t, func(i int, _ cell) error {
		time.Sleep(time.Duration(i) * stagger)
		return run[i]()
	})
}

// each runs do for all cells at once.
func each(t *testing.T, do func(i int, c cell) error) {
	t.Helper()
	var running sync.WaitGroup
	for i, c := range cells() {
		running.Go(func() {
			if err := do(i, c); err != nil {
				t.Errorf("%s: %v", c.source(), err)
			}
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// durationFrom and numberFrom read a variable, or take the default.
func durationFrom(t *testing.T, name string, otherwise time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least {
		t.Fatalf("%s is %q, want a duration from %v", name, text, least)
	}
	return d
}

func numberFrom(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%s is %q, want a number", name, text)
	}
	return n
}
