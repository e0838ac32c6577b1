//go:build integration

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestKillProbe kills a service that probes a healthy database again and again. What is lost
// of a life is no gap, and nothing that is kept has read from it: there is no finding.
func TestKillProbe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "isowatch.yaml")
	text := fmt.Sprintf("inputs:\n  - probe: {url: %q, source: canary, rate: 200, sessions: 4}\n", "sqlite:///"+filepath.Join(dir, "canary.db"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newLives(buildMonitor(t), filepath.Join(dir, "data"), "--config", file, "--idle", "1s")
	goOn := func(n float64) {
		t.Helper()
		m.awaitListening(t)
		for deadline := time.Now().Add(killPatience); m.metrics(t)["isowatch_probe_transactions_total"] < n; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no transactions\n%s", m.logText())
			}
		}
	}
	for life := range 8 {
		m.start(t)
		goOn(float64(20 + 37*life))
		m.kill(t)
	}
	m.start(t)
	goOn(1000) // 5 s: what waited in the lives before is decided
	sums := m.metrics(t)
	m.terminate(t)
	if sums["isowatch_gaps_total"] != 0 || sums["isowatch_unattributed_reads_total"] != 0 || sums["isowatch_transactions_total"] < 1000 {
		t.Errorf("%v gaps, %v reads of what nobody wrote, %v transactions", sums["isowatch_gaps_total"], sums["isowatch_unattributed_reads_total"], sums["isowatch_transactions_total"])
	}
	if found := m.findings(t); len(found) > 0 {
		t.Errorf("%d findings on a healthy database, the first %+v", len(found), found[0])
	}
}
