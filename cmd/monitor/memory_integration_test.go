//go:build integration

package main

import (
	"bufio"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/workload"
)

const (
	// limitedTxns transactions of some 2 KB each do not fit into limitedMemory, with a
	// window that would hold them all.
	limitedTxns   = 500_000
	limitedMemory = "400MiB"
	// limitedMost bounds the memory of the process, in bytes: the limit, and what no limit of
	// the runtime covers: code, and pages of the store that are mapped.
	limitedMost = 700e6
	// limitedPlant transactions lie between two anomalies, which are closer together than
	// the smallest window.
	limitedPlant = 20_000
)

// A window that would need more memory than GOMEMLIMIT shrinks: the process stays
// near the limit, takes in every record, finds what is planted and nothing else, and
// says that memory was short.
func TestMemoryLimit(t *testing.T) {
	records := &traffic{rng: rand.New(rand.NewPCG(1, 1)), plant: limitedPlant}
	for i := range 2 {
		records.feed(t, 1, i, workload.Config{
			Kind: workload.Registers, Count: limitedTxns/2/limitedPlant*limitedPlant + soakTail, Sessions: 16, Keys: 1000, Interval: time.Millisecond, PlantEvery: limitedPlant,
		})
	}
	path := filepath.Join(t.TempDir(), "events.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for lines := records.next(1000); len(lines) > 0; lines = records.next(1000) {
		for _, line := range lines {
			w.Write(line) // Flush tells
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()

	t.Setenv("GOMEMLIMIT", limitedMemory)
	m := newLives(buildMonitor(t), filepath.Join(t.TempDir(), "data"), "--tail", path, "--window", "1h")
	m.start(t)
	m.awaitListening(t)
	short, most := false, 0.0
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		have := m.metrics(t)
		short = short || have["isowatch_memory_short"] == 1
		most = max(most, have["process_resident_memory_bytes"])
		if int(have["isowatch_transactions_total"]) == records.published {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v of %d transactions taken in\n%s", have["isowatch_transactions_total"], records.published, m.logText())
		}
	}
	m.terminate(t)
	records.compare(t, m.findings(t))
	t.Logf("%d transactions, at most %.0f MB resident with GOMEMLIMIT=%s", records.published, most/1e6, limitedMemory)
	if !short {
		t.Error("memory was never short: the test shows nothing")
	}
	if most > limitedMost {
		t.Errorf("%.0f MB resident, at most %.0f wanted", most/1e6, limitedMost/1e6)
	}
}
