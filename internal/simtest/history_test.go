package simtest

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/window"
)

// TestHistoryOfFindings: the records that a violation carries are enough to refute a
// level that it refutes, under a contract by which other records may be missing. Mostly it is the
// same finding; where several cycles share an edge, the order of arrival decides which
// of them is shown.
func TestHistoryOfFindings(t *testing.T) {
	t.Parallel()
	again := map[string]int{}
	for i := range twinSeeds(t, 600) {
		rng := rand.New(rand.NewPCG(uint64(i), 33))
		h := oracle.Random(rng, oracle.Wide())
		if i%2 == 0 {
			h = oracle.RandomKinds(rng, mixes()["all"])
		}
		_, found, err := run(exact(), batchOf(t, h, rng.Perm(len(h))), false)
		if err != nil {
			t.Fatalf("history %d: %v", i, err)
		}
		for j := range found {
			f := &found[j]
			if f.Kind != finding.KindViolation || f.State != finding.Final {
				continue
			}
			if !foundAgain(t, f, true) && !foundAgain(t, f, false) {
				t.Fatalf("history %d: not found again\n%s\nfrom %s\nof\n%s", i, f.Explanation, f.History, h.Text())
			}
			again[f.Anomaly]++
		}
	}
	for _, name := range []string{"G0", "G1a", "G1b", "G1c", "G-single-item", "G-single", "G2-item", "lost-update", "internal", "garbage-read", "incompatible-order"} {
		if enough(t, 600) && again[name] == 0 {
			t.Errorf("no %s was found again: %v", name, again)
		}
	}
	t.Logf("found again: %v", again)
}

func foundAgain(t *testing.T, f *finding.Finding, existing bool) bool {
	cfg := exact()
	cfg.Contract = window.Contract{Complete: true, Existing: existing}
	b := &event.Batch{Partitions: []string{"history"}}
	var d event.Decoder
	for _, r := range withoutGaps(t, f.History) {
		d.Decode(b, event.Position{}, r)
	}
	if len(b.Bad) > 0 {
		t.Fatalf("bad record: %s", b.Bad[0].Reason)
	}
	_, found, err := run(cfg, b, false)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(found, func(g finding.Finding) bool {
		return g.State == finding.Final && slices.ContainsFunc(f.Refutes, func(level string) bool {
			return slices.Contains(g.Refutes, level) || slices.Contains(g.AlsoRefutes, level)
		})
	})
}

// withoutGaps numbers the records of each session without gaps: what is not among them is
// known not to matter, and not missing.
func withoutGaps(t *testing.T, history []json.RawMessage) (all [][]byte) {
	t.Helper()
	records := make([]map[string]json.RawMessage, len(history))
	seqs := map[string][]int{}
	seqOf := func(r map[string]json.RawMessage) int {
		seq, err := strconv.Atoi(string(r["seq"]))
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	for i := range history {
		if err := json.Unmarshal(history[i], &records[i]); err != nil {
			t.Fatal(err)
		}
		if session := string(records[i]["session"]); session != "" {
			seqs[session] = append(seqs[session], seqOf(records[i]))
		}
	}
	for _, r := range records {
		if of := seqs[string(r["session"])]; len(of) > 0 {
			slices.Sort(of)
			r["seq"] = []byte(strconv.Itoa(1 + slices.Index(of, seqOf(r))))
		}
	}
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}
