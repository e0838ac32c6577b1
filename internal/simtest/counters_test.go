package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// TestCounterStreams: what a window says of counters in the end, whatever it had said and
// taken back before, is what is said of the whole history.
func TestCounterStreams(t *testing.T) {
	for name, k := range countedMixes("counters", "totals") {
		if k.Versions || k.Deletes {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := map[string]int{}
			for i := range twinSeeds(t, 600) {
				rng := rand.New(rand.NewPCG(uint64(i), 37))
				h := oracle.RandomKinds(rng, k)
				whole, cfg := exact(), windowed(rng)
				whole.Contract.Existing = i%2 == 0
				cfg.Contract.Existing = i%2 == 0
				cfg.MaxTxn = time.Duration(1+rng.IntN(30)) * time.Millisecond
				if cfg.Contract.Existing { // else hardly a transaction would begin late enough
					cfg.MaxTxn = time.Nanosecond
					whole.MaxTxn, whole.Lateness = cfg.MaxTxn, cfg.Lateness
				}
				perm, restarts := arrival(rng, len(h)), rng.IntN(3) == 0
				fails := func(h oracle.History, perm []int) string {
					return counterStream(t, whole, cfg, h, perm, restarts, said)
				}
				if why := fails(h, perm); why != "" {
					reportKinds(t, i, h, perm, why, fails)
				}
			}
			t.Logf("%s: %v", name, said)
			if enough(t, 600) && (said["told"] < 5 || said["taken back"] < 3 || said["nothing"] < 20) {
				t.Errorf("too few of one: %v", said)
			}
		})
	}
}

func counterStream(t *testing.T, whole, cfg window.Config, h oracle.History, perm []int, restarts bool, said map[string]int) string {
	_, found, err := run(whole, batchOf(t, h, perm), false)
	if err != nil {
		return err.Error()
	}
	want, _ := aboutCounters(found)
	unproven, _ := aboutCounters(slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool { return !ofUnknown(h, &f) }))
	m := window.New(cfg)
	var eff window.Effects
	var d event.Decoder
	gap := false
	for i, p := range perm {
		if restarts {
			m = readBack(t, cfg, m)
		}
		b := &event.Batch{Partitions: []string{"sim"}}
		d.Decode(b, event.Position{Offset: int64(i)}, workload.AppendJSON(nil, &h[p]))
		m.Step(b, []int32{0}, 0, &eff)
		gap = gap || m.Totals().Gaps > 0
	}
	m.Close(&eff)
	if m.Counters.Unverified > 0 {
		return fmt.Sprintf("a witness is not verified: %v", m.Unverified())
	}
	got, back := aboutCounters(eff.Findings)
	said["taken back"] += back
	if len(got) > 0 {
		said["told"]++
	} else {
		said["nothing"]++
	}
	if cfg.Contract.Existing || slices.ContainsFunc(want, isTotal) { // of reads that exclude each other, which ones are told may differ
		got, want, unproven = anomaliesOf(got), anomaliesOf(want), anomaliesOf(unproven)
	}
	// Nothing certain is said where a record was missing when it was decided, nor of one of unknown
	// outcome that has retired when it shows that it took effect. Nothing is said to hold then.
	want = slices.DeleteFunc(want, func(a string) bool {
		return !slices.Contains(got, a) && (gap || slices.Contains(unproven, a)) && !saidToHold(m, found, a)
	})
	if cfg.Contract.Existing { // the longest transaction is short: a record on its way is a gap when reads are decided
		want = slices.DeleteFunc(want, func(a string) bool { return !slices.Contains(got, a) })
	}
	if !slices.Equal(got, want) {
		return fmt.Sprintf("of the stream: %v\nof the whole history: %v", got, want)
	}
	return ""
}

// ofUnknown says whether the outcome of one of f's transactions is unknown.
func ofUnknown(h oracle.History, f *finding.Finding) bool {
	return slices.ContainsFunc(h, func(t workload.Txn) bool { return t.Status == event.Unknown && slices.Contains(f.Txns, t.ID) })
}

// aboutCounters are the standing certain findings about reads of counters, by anomaly and id, and
// how many were withdrawn.
func aboutCounters(fs []finding.Finding) (standing []string, withdrawn int) {
	latest := map[string]finding.Finding{}
	for _, f := range fs {
		if f.Certain && ((strings.Contains(f.Explanation, "no increments") || strings.Contains(f.Explanation, "no set of increments")) || strings.Contains(f.Explanation, "read a total")) {
			latest[f.ID] = f
		}
	}
	for id, f := range latest {
		if f.State == finding.Withdrawn {
			withdrawn++
		} else {
			standing = append(standing, f.Anomaly+" "+id)
		}
	}
	slices.Sort(standing)
	return standing, withdrawn
}

// saidToHold says whether a level is ok that the standing finding refutes.
func saidToHold(m *window.Machine, found []finding.Finding, standing string) bool {
	return slices.ContainsFunc(found, func(f finding.Finding) bool {
		return strings.HasPrefix(standing, f.Anomaly) && slices.ContainsFunc(f.Refutes, func(l string) bool { return verdicts(m)[oracle.Level(l)] == window.OK })
	})
}

func isTotal(standing string) bool { return strings.HasPrefix(standing, "G-single-item") }

// anomaliesOf leaves the ids out.
func anomaliesOf(standing []string) []string {
	for i := range standing {
		standing[i], _, _ = strings.Cut(standing[i], " ")
	}
	return slices.Compact(standing)
}
