package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
)

// found is a violation by the transactions, which serializable allows or not.
func found(id, title, anomaly string, expected bool, txns ...string) alert.Delivery {
	return alert.Delivery{Finding: finding.Finding{
		ID: id, Kind: finding.KindViolation, State: finding.Provisional, Certain: true, Expected: expected, Title: title, Anomaly: anomaly,
		Guidance: finding.Guidance{Headline: "What happened.", Causes: []string{"Cause of " + id}, Next: []string{"Step."}},
		Txns:     txns, Edges: []finding.Edge{{Key: "x"}},
		Refutes: []string{"strong-session-causal"}, AlsoRefutes: []string{"strong-session-serializable"},
	}}
}

// TestStory plants a bug of each fate.
func TestStory(t *testing.T) { synctest.Test(t, tellStory) }

func tellStory(t *testing.T) {
	var said, shown strings.Builder
	w := config.DefaultWatch(config.WholeContract())
	w.Lateness, w.MaxTransaction = time.Second, 2*time.Second
	s := newStory(func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }, &w)
	s.text = &shown
	for _, p := range []app.Planted{
		{Bug: "stale read", Txn: "old", Key: "x", Other: "new"},
		{Bug: "lost update", Txn: "b", Key: "x", Other: "a"},
		{Bug: "lost update", Txn: "c", Key: "x", Other: "a"},
		{Bug: "lost update", Txn: "d", Key: "y", Other: "a"},
		{Bug: "lost update", Txn: "f", Key: "x", Other: "e"},
		{Bug: "dirty read", Txn: "r", Key: "x", Other: "w"},
		{Bug: "dirty read", Txn: "last", Key: "x", Other: "w2"},
		{Bug: "stale read", Txn: "alone", Key: "x", Other: "new"},
	} {
		s.Plant(p)
	}
	s.Unanswered("e")
	s.bugs[6].at = 8 * time.Second
	time.Sleep(7 * time.Millisecond)
	gone := found("gone", "lost update", "lost-update", false, "d")
	gone.Finding.State = finding.Withdrawn
	if err := s.Deliver(t.Context(), []alert.Delivery{
		gone,
		found("f0", "causality violation", "G-single-item-process", true, "b"), // told after the alert
		found("f1", "monotonic reads violated", "G-single-item-process", true, "old"),
		found("f2", "lost update", "lost-update", false, "a", "b"),
		found("f3", "aborted read", "G1a", false, "r", "w"),
		found("f4", "causality violation", "G-single-item-process", true, "f"), // nobody knows whether e was committed
	}); err != nil {
		t.Fatal(err)
	}
	if first := shown.String(); strings.Contains(first, "Cause of f2") || !strings.Contains(first, "Cause of f3") {
		t.Errorf("the first finding alone is explained at the end:\n%s", first)
	}
	for _, want := range []string{
		"planted: stale read. old reads x as it was before new changed it.\n",
		"planted: lost update. b overwrites x, which a has just changed.\n",
		"planted: dirty read. r reads x from w, which is then rolled back.\n",
		"found:   stale read of old, 7 ms later, as monotonic reads violated (G-single-item-process). Finding f1. serializable allows it, so it is only counted.\n",
		"found:   lost update of b, 7 ms later. Finding f2.\n",
		"found:   dirty read of r, 7 ms later, as aborted read (G1a). Finding f3.\n                   Why that name: what it read was rolled back.\n",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("not said: %s", want)
		}
	}
	if got := shown.String(); strings.Count(got, "VIOLATED") != 2 || s.first.ID != "f2" {
		t.Errorf("first %s, shown:\n%s", s.first.ID, got)
	}
	const want = `5 transactions were checked in 10.0 s. The database promised serializable. 3 planted bugs broke that promise.

  bug          planted  alerted  allowed  no trace  not yet  missed   found after
  lost update        4        2        0         1        0       1   7 ms
  write skew         0        0        0         0        0       0
  dirty read         2        1        0         0        1       0   7 ms
  stale read         2        0        1         1        0       0   7 ms

  alerted   It was found, and serializable forbids it.
  allowed   It was found, and serializable allows it. It is counted, and nobody is alerted.
            To be alerted, expect more: monitor demo --expect strong-session-serializable
  no trace  lost update, once: a client got no answer to its COMMIT, so nobody knows whether that was committed.
  no trace  stale read, once: the client had met nothing newer before, so nothing shows that the data were old.
  not yet   The demo ended too soon. A dirty read is told after 4.0 s, when no record on its way can explain it.
  missed    The clients' answers show it, and the monitor did not find it. Please report this.

They were found under these names. monitor explain NAME says more.

  lost update    2  lost update (lost-update)
  dirty read     1  aborted read (G1a): what it read was rolled back
  stale read     1  monotonic reads violated (G-single-item-process): its client had met newer data before

The monitor made 3 findings, and 2 of them are alerts. One bug can show in several.
`
	summary := app.DemoSummary{Transactions: 5, Findings: []app.AnomalyCount{{Anomaly: "G1a", Alerted: 1}, {Anomaly: "lost-update", Alerted: 1, Expected: 1}}}
	if got := string(s.ending(10*time.Second).append(nil, &summary)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
