package app

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

func collectorOf(s *engine.Status, declared ...string) *collector {
	c := newCollector()
	c.now = func() time.Time { return time.Unix(15, 0) }
	c.status = func() *engine.Status { return s }
	c.store = func() store.Metrics { return store.Metrics{Commits: 3} }
	c.declared, c.pages = declared, "https://watch.example"
	c.expects = func(string) isolation.Level { return isolation.Level{Base: isolation.ReadCommitted} }
	c.inputs = []*input{{name: "nats:S", troubles: map[string]string{}, behind: map[string]bool{"nats:S": true}, lastTime: 5e9}}
	return c
}

func bankStatus() *engine.Status {
	return &engine.Status{
		Tick: 12_500_000_000, Records: 9, Bytes: 900, Open: 2, Evicted: 4,
		Sources: []*engine.SourceStatus{{
			Source: "bank", Live: 7, Watermark: 11_000_000_000,
			Counters: window.Counters{Committed: 5, Aborted: 1, Unknown: 2, Operations: 30, Horizon: 4, Counters: infer.Counters{Gaps: 8, DeadLetters: 6}},
			Verdicts: map[string]engine.Verdict{"serializable": {Verdict: "violated"}, "snapshot-isolation": {Verdict: "ok"}, "causal": {Verdict: "unknown", ByContract: true}},
			Reads:    window.Decided{Reads: 10, Share: 0.9},
			Findings: map[string]engine.Found{"G2-item": {Violating: 3, Expected: 1, Uncertain: 2}},
			Weaker:   []window.WeakerTotal{{Asked: "read-committed", Expected: "serializable", Count: 9}},
		}},
	}
}

func TestMetricsAreClean(t *testing.T) {
	registry := prometheus.NewRegistry()
	alert.NewMetrics(registry)
	c := collectorOf(bankStatus(), "default")
	c.probes, c.selfTest = []*probed{{source: "canary", watch: newProbeWatch(time.Now)}}, &selfTest{}
	registry.MustRegister(c)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestMetricValues(t *testing.T) {
	want := `
# HELP isowatch_transactions_total Transactions read, by the status of their records.
# TYPE isowatch_transactions_total counter
isowatch_transactions_total{source="bank",status="aborted"} 1
isowatch_transactions_total{source="bank",status="committed"} 5
isowatch_transactions_total{source="bank",status="unknown"} 2
# HELP isowatch_verdict Verdict on a level: 0 holds, 1 unknown, 2 violated.
# TYPE isowatch_verdict gauge
isowatch_verdict{level="causal",source="bank"} 1
isowatch_verdict{level="serializable",source="bank"} 2
isowatch_verdict{level="snapshot-isolation",source="bank"} 0
# HELP isowatch_open_by_contract Whether a level is unknown only for what the contract leaves open, and most reads are decided: 1 or 0.
# TYPE isowatch_open_by_contract gauge
isowatch_open_by_contract{level="causal",source="bank"} 1
isowatch_open_by_contract{level="serializable",source="bank"} 0
isowatch_open_by_contract{level="snapshot-isolation",source="bank"} 0
# HELP isowatch_gaps_total Records known to be missing.
# TYPE isowatch_gaps_total counter
isowatch_gaps_total{source="bank"} 8
# HELP isowatch_watermark_timestamp_seconds Event time up to which all records are assumed to have arrived. 0 before the first record, and where records have no times.
# TYPE isowatch_watermark_timestamp_seconds gauge
isowatch_watermark_timestamp_seconds{source="bank"} 11
# HELP isowatch_behind_seconds How far the watermark is behind the clock, or behind the latest record where all inputs were read to their ends. 0 where records have no times.
# TYPE isowatch_behind_seconds gauge
isowatch_behind_seconds{source="bank"} 4
# HELP isowatch_last_tick_timestamp_seconds Clock of the latest committed step. It moves every second or two, also without input.
# TYPE isowatch_last_tick_timestamp_seconds gauge
isowatch_last_tick_timestamp_seconds 12.5
# HELP isowatch_evicted_transactions_total Open transactions that were given up early because too many were open.
# TYPE isowatch_evicted_transactions_total counter
isowatch_evicted_transactions_total 4
# HELP isowatch_source_up Whether an input can be read: 1 or 0.
# TYPE isowatch_source_up gauge
isowatch_source_up{input="nats:S"} 1
# HELP isowatch_input_caught_up Whether an input was read to its end at the last look: 1 or 0.
# TYPE isowatch_input_caught_up gauge
isowatch_input_caught_up{input="nats:S"} 0
# HELP isowatch_store_commits_total Commits of this process.
# TYPE isowatch_store_commits_total counter
isowatch_store_commits_total 3
`
	names := []string{
		"isowatch_transactions_total", "isowatch_verdict", "isowatch_open_by_contract", "isowatch_gaps_total", "isowatch_watermark_timestamp_seconds", "isowatch_behind_seconds",
		"isowatch_last_tick_timestamp_seconds", "isowatch_evicted_transactions_total", "isowatch_source_up", "isowatch_input_caught_up", "isowatch_store_commits_total",
	}
	if err := testutil.CollectAndCompare(collectorOf(bankStatus()), strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// The name of a monitor among several is the label of one metric, and of no other: alerts of rules do not carry it.
func TestReplicaMarksOneMetric(t *testing.T) {
	for _, name := range []string{"", "a"} {
		registry, c := prometheus.NewRegistry(), collectorOf(bankStatus())
		c.replica = name
		registry.MustRegister(c)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var marked []string
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "replica" {
						marked = append(marked, f.GetName()+" "+l.GetValue())
					}
				}
			}
		}
		want := []string{"isowatch_replica_info a"}
		if name == "" {
			want = nil
		}
		if !slices.Equal(marked, want) {
			t.Errorf("replica %q marks %q, want %q", name, marked, want)
		}
	}
}

// A first finding must show as an increase: every anomaly of every source that
// is known or declared is there before it, once.
func TestFindingsExistAtZero(t *testing.T) {
	series := func(s *engine.Status, declared ...string) map[string]float64 {
		registry := prometheus.NewRegistry()
		registry.MustRegister(collectorOf(s, declared...))
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err) // a series given twice among others
		}
		values := map[string]float64{}
		for _, f := range families {
			if f.GetName() != "isowatch_findings_total" {
				continue
			}
			for _, m := range f.GetMetric() {
				var labels []string
				for _, l := range m.GetLabel() { // sorted: anomaly, expected, source, title
					labels = append(labels, l.GetValue())
				}
				values[strings.Join(labels, " ")] = m.GetCounter().GetValue()
			}
		}
		return values
	}
	before := series(&engine.Status{}, "bank", "shop")
	if want := 2 * 2 * len(isolation.AnomalyNames()); len(before) != want {
		t.Errorf("%d series before the first record, want %d", len(before), want)
	}
	for name, value := range before {
		if value != 0 {
			t.Errorf("%s begins with %v", name, value)
		}
	}
	after := series(bankStatus(), "bank", "shop")
	for name := range after {
		if strings.HasSuffix(name, " ") {
			t.Errorf("%q has no title", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d series, %d before the first record", len(after), len(before))
	}
	if after["G2-item false bank write skew"] != 3 || after["G2-item true bank write skew"] != 1 || after["G0 false bank write cycle"] != 0 {
		t.Errorf("G2-item: %v and %v", after["G2-item false bank write skew"], after["G2-item true bank write skew"])
	}
}

// Levels that can be asked for instead of the expected one have their series before
// anybody does, so that the first shows as an increase.
func TestWeakerExistsAtZero(t *testing.T) {
	want := `
# HELP isowatch_weaker_than_expected_total Transactions that asked for a weaker level than is expected of their source, by both levels.
# TYPE isowatch_weaker_than_expected_total counter
isowatch_weaker_than_expected_total{asked="read-committed",expected="serializable",source="bank"} 9
isowatch_weaker_than_expected_total{asked="read-uncommitted",expected="read-committed",source="shop"} 0
`
	if err := testutil.CollectAndCompare(collectorOf(bankStatus(), "shop"), strings.NewReader(want), "isowatch_weaker_than_expected_total"); err != nil {
		t.Error(err)
	}
}

// Every row of the table is emitted, and nothing beside it.
func TestMetricTable(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := collectorOf(bankStatus())
	c.replica = "a"
	c.room, c.memory, c.reloaded = newDiskSpace(0, nil, nil), newMemory(0), &reloaded{}
	c.probes, c.selfTest = []*probed{{source: "canary", watch: newProbeWatch(time.Now)}}, &selfTest{}
	c.stages = new(engine.Engine).Stages
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var emitted, table []string
	for _, f := range families {
		emitted = append(emitted, f.GetName())
	}
	for _, m := range metricTable() {
		table = append(table, "isowatch_"+m.name)
	}
	slices.Sort(table)
	if !slices.Equal(emitted, table) {
		t.Errorf("emitted %v\ntable   %v", emitted, table)
	}
}

// The rules link to where people reach the pages; an address that is that of no host is no link.
func TestPagesInTheMetrics(t *testing.T) {
	for _, c := range []struct{ address, external, want string }{
		{"127.0.0.1:0", "https://watch.example/db/", "https://watch.example/db"},
		{"127.0.0.1:0", "", "http://127.0.0.1:"},
		{"0.0.0.0:0", "", ""},
		{"[::]:0", "", ""},
		{"0.0.0.0:0", "http://watch.example", "http://watch.example"},
	} {
		a := &App{config: config.DefaultService()}
		a.config.HTTP.Address, a.config.HTTP.ExternalURL = c.address, c.external
		if err := a.listen(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := a.linkedPages()
		a.listener.Close()
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" || strings.HasSuffix(got, "/") {
			t.Errorf("%s with %q: %q, want %q", c.address, c.external, got, c.want)
		}
	}
}
