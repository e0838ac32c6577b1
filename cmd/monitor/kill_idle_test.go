//go:build integration

package main

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// TestAwayForLongerThanIdle stops the program for longer than the idle time-out
// while records go on to come in: what waits in the partitions is no silence.
func TestAwayForLongerThanIdle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 200))
	input := kafkaInput(t, rng, 4)
	records := newTraffic(t, 1, 30_000)
	program, dir := buildMonitor(t), t.TempDir()
	published := make(chan error, 1)
	go func() { published <- publishAll(t.Context(), &input, records, rng) }()
	m := newLives(program, filepath.Join(dir, "away"), append(input.flags, "--idle", "2s")...)
	for range 2 {
		m.start(t)
		time.Sleep(time.Second)
		m.terminate(t)
		time.Sleep(4 * time.Second)
	}
	m.start(t)
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	m.awaitAll(t, records.published)
	records.compare(t, m.findings(t))
	m.terminate(t)
}
