//go:build integration

package main

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
)

const (
	// killsEnv and seedEnv change how often a program is killed, and when.
	killsEnv = "ISOWATCH_KILLS"
	seedEnv  = "ISOWATCH_KILL_SEED"
	// lifeMean is how long a life lasts on average, from the start of the process.
	lifeMean = 1200 * time.Millisecond
	// trafficRate is records a second, at most; trafficBeat how often some come.
	trafficRate = 2500
	trafficBeat = 10 * time.Millisecond
	// killPatience is how long the last life may take in nothing of the rest of the
	// input.
	killPatience = time.Minute
)

// The program is killed with SIGKILL at random instants while records come in,
// and started again each time. It must end up with exactly what was planted, each
// finding stored once and told at least once. So must one life of it that begins
// when all records are there; where the input has one order, the two agree byte
// for byte.

func TestKillOverNATS(t *testing.T) { killed9(t, natsInput) }

func TestKillOverKafka(t *testing.T) {
	killed9(t, func(t *testing.T, rng *rand.Rand) killInput { return kafkaInput(t, rng, 1) })
}

func TestKillOverKafkaPartitions(t *testing.T) {
	killed9(t, func(t *testing.T, rng *rand.Rand) killInput { return kafkaInput(t, rng, 4) })
}

func TestKillOverFile(t *testing.T) { killed9(t, fileInput) }

func numberFrom(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a number from 1", variable, text)
	}
	return n
}

func killed9(t *testing.T, open func(*testing.T, *rand.Rand) killInput) {
	kills, seed := numberFrom(t, killsEnv, 10), numberFrom(t, seedEnv, 1)
	t.Logf("%s=%d %s=%d", killsEnv, kills, seedEnv, seed)
	random := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 100+n)) }
	input := open(t, random(0))
	hook := newReceiver(t, random(1))
	records := newTraffic(t, uint64(seed), int(lifeMean.Seconds()*trafficRate)*(kills+2))
	program, dir := buildMonitor(t), t.TempDir()

	published := make(chan error, 1)
	go func() { published <- publishAll(t.Context(), &input, records, random(2)) }()
	m := newLives(program, filepath.Join(dir, "killed"), append(input.flags, "--webhook", hook.url)...)
	live(t, m, hook, random(3), kills)
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	m.awaitAll(t, records.published)
	findings := m.findings(t)
	awaitTold(t, hook, findings)
	m.terminate(t)
	comparePrinted(t, m, findings)
	records.compare(t, findings)
	t.Logf("%d transactions, %d findings, %d posted twice", records.published, len(findings), postedTwice(hook))

	whole := newLives(program, filepath.Join(dir, "whole"), input.flags...)
	whole.start(t)
	whole.awaitAll(t, records.published)
	whole.terminate(t)
	if input.ordered {
		compareStored(t, "finding", m.stored(t), whole.stored(t))
		compareStored(t, "pane", m.stored(t, "--panes"), whole.stored(t, "--panes"))
	} else {
		records.compare(t, whole.findings(t))
	}
	if t.Failed() {
		t.Logf("log of the killed program:\n%s", m.logText())
	}
}

// publishAll publishes the records in batches of random size.
func publishAll(ctx context.Context, input *killInput, records *traffic, rng *rand.Rand) error {
	beat := time.NewTicker(trafficBeat)
	defer beat.Stop()
	for {
		lines := records.next(1 + rng.IntN(int(2*trafficRate*trafficBeat/time.Second)))
		if len(lines) == 0 {
			return nil
		}
		if err := input.publish(ctx, lines); err != nil {
			return err
		}
		<-beat.C
	}
}

// live starts the program and kills it, kills times, and leaves it running. After
// some kills one more life ends in order. Whatever is told in a life is stored at
// its end, and stays.
func live(t *testing.T, m *lives, hook *receiver, rng *rand.Rand, kills int) {
	t.Helper()
	before := map[string]bool{}
	for i := range kills {
		m.start(t)
		time.Sleep(lifeSpan(rng))
		if i%7 == 6 { // in the middle of an orderly end, which writes a snapshot
			m.signal(t, syscall.SIGTERM)
			time.Sleep(time.Duration(rng.IntN(int(60 * time.Millisecond))))
		}
		m.kill(t)
		before = stays(t, m, hook, before)
		if i%10 == 2 {
			m.start(t)
			time.Sleep(lifeMean / 2)
			m.terminate(t)
			before = stays(t, m, hook, before)
		}
	}
	m.start(t)
}

// lifeSpan is one of a few milliseconds in a third of all cases: it ends while
// the program starts.
func lifeSpan(rng *rand.Rand) time.Duration {
	if rng.IntN(3) == 0 {
		return time.Duration(rng.Int64N(int64(150 * time.Millisecond)))
	}
	return lifeMean/4 + time.Duration(rng.Int64N(int64(5*lifeMean/2)))
}

// stays returns the ids that are stored now, when the program does not run:
// among them those of before, and all that were told since.
func stays(t *testing.T, m *lives, hook *receiver, before map[string]bool) map[string]bool {
	t.Helper()
	if !m.hasListened() {
		return before // the folder may not be there yet
	}
	now := map[string]bool{}
	for _, f := range m.findings(t) {
		now[f.ID] = true
	}
	posted, _ := hook.got()
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range before {
		if !now[id] {
			t.Errorf("finding %s was stored and is gone", id)
		}
	}
	for id := range m.printed {
		if !now[id] {
			t.Errorf("finding %s was printed and is not stored", id)
		}
	}
	for p := range posted {
		if !now[p.id] {
			t.Errorf("finding %s was posted and is not stored", p.id)
		}
	}
	return now
}

// awaitAll waits until the program has taken in all transactions, each once.
func (l *lives) awaitAll(t *testing.T, want int) {
	t.Helper()
	var have map[string]float64
	most := 0.0
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		have = l.metrics(t)
		if n := have["isowatch_transactions_total"]; n >= float64(want) {
			break
		} else if n > most { // it goes on, however busy the machine is
			most, deadline = n, time.Now().Add(killPatience)
		}
	}
	if n := have["isowatch_transactions_total"]; n != float64(want) {
		t.Errorf("%g transactions were taken in, %d published\n%s", n, want, l.logText())
	}
	for _, name := range []string{
		"duplicates", "dead_letters", "gaps", "late_records", "clamped_records", "frozen_transactions",
		"horizon_findings", "unverified_witnesses", "uncheckable_keys",
	} {
		if n, ok := have["isowatch_"+name+"_total"]; !ok || n != 0 {
			t.Errorf("isowatch_%s_total is %g, %v; want 0", name, n, ok)
		}
	}
}

// awaitTold waits until every finding was posted as it stands, or, when it was
// settled since, at all.
func awaitTold(t *testing.T, hook *receiver, findings []finding.Finding) {
	t.Helper()
	var missing []string
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		posted, faults := hook.got()
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		ids := map[string]bool{}
		for p := range posted {
			ids[p.id] = true
		}
		missing = missing[:0]
		for _, f := range findings {
			settled := f.State == finding.Final
			if posted[delivered{f.ID, f.Revision, f.State}] == 0 && !(settled && ids[f.ID]) {
				missing = append(missing, f.Anomaly+" "+f.ID)
			}
		}
		if len(missing) == 0 {
			return
		}
	}
	t.Errorf("never posted: %v", missing)
}

func postedTwice(hook *receiver) int {
	posted, _ := hook.got()
	n := 0
	for _, times := range posted {
		if times > 1 {
			n++
		}
	}
	return n
}

// comparePrinted wants every finding on standard output of one of the lives.
func comparePrinted(t *testing.T, m *lives, findings []finding.Finding) {
	t.Helper()
	for _, f := range findings {
		if m.printed[f.ID] == 0 {
			t.Errorf("finding %s was never printed", f.ID)
		}
	}
}

// compareStored wants the same records, but for the times of detection and the
// order in which sources took turns.
func compareStored(t *testing.T, what string, got, want [][]byte) {
	t.Helper()
	lines := func(records [][]byte) map[string]int {
		counts := map[string]int{}
		for _, text := range records {
			var fields map[string]any
			if err := json.Unmarshal(text, &fields); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			delete(fields, "detected_at")
			delete(fields, "found_at")
			plain, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			counts[string(plain)]++
		}
		return counts
	}
	g, w := lines(got), lines(want)
	if len(w) == 0 {
		t.Errorf("one life stored no %ss", what)
	}
	for _, line := range slices.Sorted(maps.Keys(g)) {
		if g[line] != w[line] {
			t.Errorf("%d times after kills, %d times in one life, %s:\n%s", g[line], w[line], what, line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(w)) {
		if g[line] == 0 {
			t.Errorf("missing after kills, %s:\n%s", what, line)
		}
	}
}
