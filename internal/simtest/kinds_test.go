package simtest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// mixes are compositions of kinds for random histories.
func mixes() map[string]oracle.Kinds {
	base := oracle.Kinds{Aborted: 0.08, Unknown: 0.08, Corrupt: 0.4}
	with := func(fn func(*oracle.Kinds)) oracle.Kinds {
		k := base
		fn(&k)
		return k
	}
	return map[string]oracle.Kinds{
		"cas":        with(func(k *oracle.Kinds) { k.CAS = true }),
		"sets":       with(func(k *oracle.Kinds) { k.Sets = true }),
		"removes":    with(func(k *oracle.Kinds) { k.Sets, k.Removes = true, true }),
		"versions":   with(func(k *oracle.Kinds) { k.Versions, k.Blind = true, 0.5 }),
		"timestamps": with(func(k *oracle.Kinds) { k.Timestamps, k.Blind = true, 0.5 }),
		"counters":   with(func(k *oracle.Kinds) { k.Counters = true }),
		"totals":     with(func(k *oracle.Kinds) { k.Totals = true }),
		"all": with(func(k *oracle.Kinds) {
			k.CAS, k.Deletes, k.Ranges, k.Sets, k.Removes, k.Counters, k.Blind = true, true, true, true, true, true, 0.1
		}),
		"ranges":             with(func(k *oracle.Kinds) { k.Ranges = true }),
		"ranges and deletes": with(func(k *oracle.Kinds) { k.Ranges, k.Deletes, k.CAS, k.Blind = true, true, true, 0.1 }),
		"ranges of versions": with(func(k *oracle.Kinds) { k.Ranges, k.Versions, k.Blind = true, true, 0.5 }),
		"ranges of versions, and deletes": with(func(k *oracle.Kinds) {
			k.Deletes, k.Ranges, k.Versions, k.Blind = true, true, true, 0.2
		}),
		"deletes": with(func(k *oracle.Kinds) { k.CAS, k.Deletes, k.Blind = true, true, 0.2 }),
	}
}

// countedMixes are those with counters that tell versions, and names of others.
func countedMixes(others ...string) map[string]oracle.Kinds {
	base := oracle.Kinds{Counters: true, Counted: true, Aborted: 0.08, Unknown: 0.08, Corrupt: 0.4}
	with := func(fn func(*oracle.Kinds)) oracle.Kinds {
		k := base
		fn(&k)
		return k
	}
	all := map[string]oracle.Kinds{
		"counted":                     base,
		"untold":                      with(func(k *oracle.Kinds) { k.Untold = 0.1 }),
		"told totals":                 with(func(k *oracle.Kinds) { k.Totals, k.Counters = true, false }),
		"counted, numbered":           with(func(k *oracle.Kinds) { k.Untold, k.Versions, k.Blind = 0.05, true, 0.3 }),
		"counted, deletes and ranges": with(func(k *oracle.Kinds) { k.Deletes, k.Ranges, k.Untold = true, true, 0.05 }),
	}
	for _, name := range others {
		all[name] = mixes()[name]
	}
	return all
}

// TestKinds: histories of every kind, in any order of arrival, with nothing
// forgotten or windows of 0 to 3 transactions, restarts, and records that come
// twice: what is reported is impossible by trial of all orders, and what is said to
// hold is possible. Where nothing is forgotten and nothing is flagged, each verdict
// is exact.
func TestKinds(t *testing.T) {
	kinds := countedMixes(slices.Collect(maps.Keys(mixes()))...)
	for _, name := range []string{"timestamps, repeated values", "timestamps, repeated values and deletes"} {
		kinds[name] = openKinds()[name]
	}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := map[string]int{}
			for i := range seeds(t, 400) {
				rng := rand.New(rand.NewPCG(uint64(i), 31))
				h := oracle.RandomKinds(rng, k)
				cfg := exact()
				if i%2 == 0 {
					cfg = windowed(rng)
				}
				cfg.Levels = exactAt(i / 2).Levels
				if k.Versions {
					cfg.Contract.NumericVersions = true
				}
				cfg.Contract.TrustCommitTS = k.Timestamps
				perm, restarts := arrival(rng, len(h)), rng.IntN(3) == 0
				fails := func(h oracle.History, perm []int) string {
					m, why := kindsRun(t, cfg, h, perm, restarts)
					if why != "" {
						return why
					}
					return impossible(m, h, i, said, oracle.Possible, byCause(&cfg))
				}
				if why := fails(h, perm); why != "" {
					reportKinds(t, i, h, perm, why, fails)
				}
			}
			for _, v := range []string{window.OK, window.Violated} {
				if enough(t, 400) && said[v] == 0 {
					t.Errorf("no verdict was %s: %v", v, said)
				}
			}
			t.Logf("%d histories of %s, verdicts: %v", histories(t, 400), name, said)
		})
	}
}

// kindsRun puts h through a machine, every fourth record twice.
func kindsRun(t *testing.T, cfg window.Config, h oracle.History, perm []int, restarts bool) (*window.Machine, string) {
	m, _, why := kindsFound(t, cfg, h, perm, restarts)
	return m, why
}

// kindsFound is kindsRun with what was found.
func kindsFound(t *testing.T, cfg window.Config, h oracle.History, perm []int, restarts bool) (*window.Machine, []finding.Finding, string) {
	return kindsAsked(t, cfg, h, perm, restarts, &opened{})
}

// kindsAsked is kindsFound where transactions ask for levels, or reads tell no kinds.
func kindsAsked(t *testing.T, cfg window.Config, h oracle.History, perm []int, restarts bool, in *opened) (*window.Machine, []finding.Finding, string) {
	m := window.New(cfg)
	var eff window.Effects
	var d event.Decoder
	step := func(i, p int) string {
		if restarts {
			m = readBack(t, cfg, m)
		}
		b := &event.Batch{Partitions: []string{"sim"}}
		record := workload.AppendJSON(nil, &h[p])
		if cfg.Contract.TrustCommitTS {
			record = stamped(record, &h[p])
		}
		if in.unkind {
			record = withoutKinds(record, h)
		}
		if l := in.asked[h[p].ID]; l != "" {
			record = append(fmt.Appendf(nil, `{"isolation":%q,`, l), record[1:]...)
		}
		d.Decode(b, event.Position{Offset: int64(i)}, record)
		if len(b.Bad) > 0 {
			return fmt.Sprintf("bad record: %s", b.Bad[0].Reason)
		}
		m.Step(b, []int32{0}, 0, &eff)
		if err := m.Check(); err != nil {
			return fmt.Sprintf("after record %d: %v", i, err)
		}
		return ""
	}
	for i, p := range perm {
		if why := step(i, p); why != "" {
			return m, eff.Findings, why
		}
		if i%4 == 3 {
			if why := step(i, perm[i-2]); why != "" {
				return m, eff.Findings, why
			}
		}
	}
	m.Close(&eff)
	if m.Counters.Unverified > 0 {
		return m, eff.Findings, fmt.Sprintf("a witness is not verified: %v", m.Unverified())
	}
	return m, eff.Findings, ""
}

var opVersion = regexp.MustCompile(`,"version":[0-9]+`)

// stamped is the record with the number that t's writes have as its commit timestamp, and
// not as their versions: an operation that tells its version is known by it.
func stamped(record []byte, t *workload.Txn) []byte {
	record = opVersion.ReplaceAll(record, nil)
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Kind != event.Read && o.Version != 0 {
			return append(fmt.Appendf(nil, `{"commit_ts":%d,`, o.Version), record[1:]...)
		}
	}
	return record
}

// byTrial tries all orders.
type byTrial func(oracle.History, oracle.Level) (bool, error)

// byCause tries those too in which deletes have effects only behind their beginnings: so does a
// machine with a window, of what was read before somebody deleted it.
func byCause(cfg *window.Config) byTrial {
	return func(h oracle.History, l oracle.Level) (bool, error) {
		if cfg.Unbounded {
			return true, nil
		}
		return oracle.PossibleByCause(h, l, cfg.Rules.Rows)
	}
}

// impossible says how the machine's verdicts contradict trial, at the four levels that
// are watched by default and one other from prefix up, by i: those with real time among
// them.
func impossible(m *window.Machine, h oracle.History, i int, said map[string]int, whole, cause byTrial) string {
	if why := unimplied(m); why != "" {
		return why
	}
	got := verdicts(m)
	others := slices.DeleteFunc(oracle.AllLevels(), func(l oracle.Level) bool {
		return strings.HasSuffix(string(l), "committed") || must(isolation.ParseLevel(string(l))).Underlying().Selects() || slices.Contains(oracle.Levels(), l)
	})
	for _, l := range append(oracle.Levels(), others[i/4%len(others)]) {
		if got[l] == "" {
			continue // not watched
		}
		possible, err := whole(h, l)
		said[got[l]]++
		if !possible {
			said["broken"]++
		}
		switch {
		case err != nil:
			return err.Error()
		case got[l] == window.Violated && possible && !impossibleBy(cause, h, l):
			return fmt.Sprintf("%s: reported violated, and an order exists", l)
		case got[l] == window.OK && !possible:
			return fmt.Sprintf("%s: said ok, and no order exists", l)
		}
	}
	return ""
}

func impossibleBy(cause byTrial, h oracle.History, l oracle.Level) bool {
	possible, err := cause(h, l)
	return err == nil && !possible
}

func reportKinds(t *testing.T, seed int, h oracle.History, perm []int, why string, fails func(oracle.History, []int) string) {
	t.Helper()
	arrived := make(oracle.History, len(h))
	for i, p := range perm {
		arrived[i] = h[p]
	}
	small := arrived
	if fails(arrived, identity(len(arrived))) != "" {
		small = oracle.Shrink(arrived, func(h oracle.History) bool { return fails(h, identity(len(h))) != "" })
	}
	cfg := exact()
	cfg.Window = window.For(time.Millisecond)
	_, found, _ := run(cfg, batchOf(t, small, identity(len(small))), false)
	for _, f := range found {
		t.Logf("%s %s %d: %s", f.ID, f.State, f.Revision, f.Explanation)
	}
	t.Fatalf("history %d: %s\nshrunk, in the order of arrival:\n%s%s", seed, why, small.Text(), fails(small, identity(len(small))))
}

// withoutKinds is the record without the kinds of keys that a write of h tells.
func withoutKinds(record []byte, h oracle.History) []byte {
	for i := range h {
		for j := range h[i].Ops {
			kind := ""
			switch o := &h[i].Ops[j]; {
			case h[i].Status == event.Aborted:
			case o.Kind == event.Inc:
				kind = "counter"
			case o.Kind == event.Add || o.Kind == event.Remove:
				kind = "set"
			}
			key := fmt.Sprintf(`"key":%q`, h[i].Ops[j].Key)
			record = bytes.ReplaceAll(record, fmt.Appendf(nil, `{"op":"r","kind":%q,%s`, kind, key), []byte(`{"op":"r",`+key))
		}
	}
	return record
}
