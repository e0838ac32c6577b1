package app

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// register fills the registry.
func (a *App) register() error {
	c := newCollector()
	c.status, c.declared = a.Status, a.config.SourceNames()
	c.expects = func(source string) isolation.Level { return a.watchOf(source).Expect }
	c.store, c.storeFailure, c.stages = a.store.Metrics, a.store.Failure, a.engine.Stages
	a.rates = &rates{}
	c.inputs, c.probes, c.selfTest, c.rates = a.inputs, a.probes, a.selfTest, a.rates
	if c.replica = a.config.Replica; a.options.unit == nil {
		c.pages, c.reloaded = a.linkedPages(), &a.reloaded
	} else {
		c.build = nil // its member tells these
	}
	c.readAhead, c.storeMemory, c.catalogMemory = a.readAhead, a.store.Memory, a.shelf.bytes
	c.room, c.memory = a.diskSpace, a.memory
	all := []prometheus.Collector{c}
	if a.options.unit == nil { // else the group tells of the process
		all = append(all, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	for _, x := range all {
		if err := a.registerer.Register(x); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return nil
}

// collector turns what the engine knows into metrics when it is asked. Counters
// of sources count since the store was made, over restarts.
type collector struct {
	status      func() *engine.Status
	store       func() store.Metrics
	storeMemory func() int64 // nil: it is not asked
	// catalogMemory is the memory of the index of findings; nil: it is not asked.
	catalogMemory func() int64
	// storeFailure is why the store takes no commit any more; nil: it is not asked.
	storeFailure func() error
	stages       func() []engine.Stage // nil: it is not asked
	inputs       []*input
	probes       []*probed
	selfTest     *selfTest  // nil: it is off
	room         *diskSpace // nil: not looked at
	memory       *memory    // the same
	reloaded     *reloaded  // the same
	readAhead    *credit    // the same
	declared     []string   // sources that exist before their first record
	expects      func(source string) isolation.Level
	build        []string          // values of build_info; nil: they are told elsewhere
	pages        string            // where people reach the pages; "": nobody knows
	replica      string            // name of this monitor among several; "": none
	titles       map[string]string // of anomalies, in words
	now          func() time.Time
	rates        *rates // nil: nobody looks when records come

	all  []*prometheus.Desc
	desc map[string]*prometheus.Desc // by name without its prefix
}

func newCollector() *collector {
	c := &collector{desc: map[string]*prometheus.Desc{}, build: BuildInfo(), titles: map[string]string{}, now: time.Now}
	for _, anomaly := range isolation.AnomalyNames() {
		c.titles[anomaly] = isolation.TitleOf(anomaly)
	}
	for _, m := range metricTable() {
		d := prometheus.NewDesc("isowatch_"+m.name, m.help, m.labels, nil)
		c.desc[m.name] = d
		c.all = append(c.all, d)
	}
	return c
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.all {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.status()
	counter := func(name string, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(c.desc[name], prometheus.CounterValue, value, labels...)
	}
	gauge := func(name string, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(c.desc[name], prometheus.GaugeValue, value, labels...)
	}
	if c.build != nil {
		gauge("build_info", 1, c.build...)
	}
	if c.pages != "" {
		gauge("pages_info", 1, c.pages)
	}
	if c.replica != "" {
		gauge("replica_info", 1, c.replica)
	}
	gauge("last_tick_timestamp_seconds", seconds(s.Tick))
	gauge("open_transactions", float64(s.Open))
	counter("evicted_transactions_total", float64(s.Evicted))
	gauge("waiting_partitions", float64(len(s.Waiting)))
	gauge("waiting_seconds", longestWait(s).Seconds())
	counter("spill_reads_total", float64(s.Reads))
	counter("records_total", float64(s.Records))
	counter("records_bytes_total", float64(s.Bytes))
	gauge("outbox_findings", float64(s.Outbox.Findings))
	gauge("outbox_bytes", float64(s.Outbox.Bytes))
	counter("outbox_dropped_total", float64(s.Outbox.Dropped))
	for _, i := range c.inputs {
		h := i.health()
		gauge("source_up", truth(h.up), h.name)
		gauge("input_caught_up", truth(h.caughtUp), h.name)
		gauge("input_unmatched_patterns", float64(len(h.unmatched)), h.name)
		gauge("input_last_record_timestamp_seconds", seconds(h.lastTime), h.name)
	}
	for _, p := range c.probes {
		p.watch.collect(p.source, counter, gauge)
	}
	if c.selfTest != nil {
		c.selfTest.collect(counter, gauge)
	}
	c.collectLimits(s, counter, gauge)
	seen := map[string]bool{}
	for i := range s.Sources {
		seen[s.Sources[i].Source] = true
		collectSource(s.Sources[i], c.titles, counter, gauge)
		gauge("behind_seconds", behind(s.Sources[i], c.rates.lastCame(s.Sources[i].Source), allRead(c.inputs), c.now()).Seconds(), s.Sources[i].Source)
	}
	for _, name := range c.declared {
		if !seen[name] {
			seen[name] = true
			x := engine.SourceStatus{Source: name, Weaker: window.WeakerThan(c.expects(name), nil)}
			x.Counters.DeadLetters = s.DeadLetters // they may be its
			collectSource(&x, c.titles, counter, gauge)
		}
	}
	if c.stages != nil {
		for _, x := range c.stages() {
			out <- prometheus.MustNewConstHistogram(c.desc["step_seconds"], x.Count, x.Sum, x.UpTo, x.Name)
		}
	}
	collectStore(c.store(), counter, gauge)
	gauge("store_failed", truth(c.storeFailure != nil && c.storeFailure() != nil))
}

// collectLimits tells how near the service is to what it is allowed.
func (c *collector) collectLimits(s *engine.Status, counter, gauge emit) {
	if c.room != nil {
		paused, free := c.room.state()
		gauge("intake_paused", truth(paused))
		gauge("disk_free_bytes", float64(free))
	}
	if c.memory != nil {
		gauge("memory_short", truth(c.memory.current() < 1 || fullest(s) >= memoryFull))
		gauge("memory_limit_bytes", float64(c.memory.most))
		for _, p := range c.memoryParts(s) {
			gauge("memory_bytes", float64(p.bytes), p.name)
		}
	}
	if c.reloaded != nil {
		ok, at := c.reloaded.state()
		gauge("config_last_reload_successful", truth(ok))
		gauge("config_last_reload_success_timestamp_seconds", seconds(at))
	}
	gauge("stored_bytes", float64(s.Kept.FindingBytes), "finding")
	gauge("stored_bytes", float64(s.Kept.DeadLetterBytes), "dead-letter")
	counter("retention_removed_total", float64(s.Removed.Findings), "finding")
	counter("retention_removed_total", float64(s.Removed.DeadLetters), "dead-letter")
	counter("retention_removed_total", float64(s.Removed.Panes), "pane")
}

// reloaded is how the last reload went.
type reloaded struct {
	mu     sync.Mutex
	failed bool
	at     int64 // of the last that was not refused, ns; 0: none yet
}

func (r *reloaded) note(ok bool, at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed = !ok; ok {
		r.at = at
	}
}

func (r *reloaded) state() (ok bool, at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.failed, r.at
}

// longestWait is for how long the partition waited for longest was not heard of.
func longestWait(s *engine.Status) time.Duration {
	if len(s.Waiting) == 0 || s.Waiting[0].Since == 0 {
		return 0
	}
	return time.Duration(s.Tick - s.Waiting[0].Since)
}

type emit func(name string, value float64, labels ...string)

func collectSource(x *engine.SourceStatus, titles map[string]string, counter, gauge emit) {
	for _, anomaly := range isolation.AnomalyNames() {
		n := x.Findings[anomaly]
		title := titles[anomaly]
		counter("findings_total", float64(n.Violating), x.Source, anomaly, "false", title)
		counter("findings_total", float64(n.Expected), x.Source, anomaly, "true", title)
		counter("findings_uncertain_total", float64(n.Uncertain), x.Source, anomaly, title)
	}
	for _, w := range x.Weaker {
		counter("weaker_than_expected_total", float64(w.Count), x.Source, w.Asked, w.Expected)
	}
	k := &x.Counters
	counter("findings_withdrawn_total", float64(k.WithdrawnRecord), x.Source, "late-record")
	counter("findings_withdrawn_total", float64(k.WithdrawnOutcome), x.Source, "late-outcome")
	counter("findings_withdrawn_total", float64(k.WithdrawnRepetition), x.Source, "repetition")
	counter("findings_withdrawn_total", float64(k.WithdrawnOther), x.Source, "other")
	counter("findings_merged_total", float64(k.Merged), x.Source)
	gauge("findings_waiting", float64(x.Waiting), x.Source)
	counter("transactions_total", float64(k.Committed), x.Source, "committed")
	counter("transactions_total", float64(k.Aborted), x.Source, "aborted")
	counter("transactions_total", float64(k.Unknown), x.Source, "unknown")
	for _, m := range []struct {
		name  string
		value int64
	}{
		{"operations_total", k.Operations},
		{"horizon_findings_total", k.Horizon},
		{"dead_letters_total", k.DeadLetters},
		{"uncheckable_keys_total", k.Uncheckable},
		{"unchecked_operations_total", k.Ignored},
		{"ambiguous_values_total", k.Ambiguous},
		{"repeating_reads_total", k.Repeating},
		{"unattributed_reads_total", k.Unattributed},
		{"gaps_total", k.Gaps},
		{"contradictory_records_total", k.Contradictory},
		{"duplicates_total", k.Duplicates},
		{"late_records_total", k.Late},
		{"clamped_records_total", k.Clamped},
		{"frozen_transactions_total", k.Frozen},
		{"squeezed_transactions_total", k.Squeezed},
		{"unverified_witnesses_total", k.Unverified},
		{"left_out_violations_total", k.LeftOut},
		{"left_out_edges_total", k.LeftOutEdges},
	} {
		counter(m.name, float64(m.value), x.Source)
	}
	gauge("source_stopped", truth(x.Stopped != ""), x.Source)
	counter("quarantined_records_total", float64(x.Quarantined), x.Source)
	gauge("live_transactions", float64(x.Live), x.Source)
	gauge("live_cap", float64(x.LiveCap), x.Source)
	gauge("watermark_timestamp_seconds", seconds(x.Watermark), x.Source)
	gauge("checker_memory_bytes", float64(x.Sizes.Bytes), x.Source)
	gauge("orders", float64(x.Orders), x.Source)
	gauge("tracked_keys", float64(x.Sizes.Keys), x.Source)
	gauge("spilled_records", float64(x.Spilled.Keys), x.Source, "key")
	gauge("spilled_records", float64(x.Spilled.Sessions), x.Source, "session")
	gauge("spilled_records", float64(x.Spilled.Txns), x.Source, "transaction")
	counter("spilled_records_returned_total", float64(x.Spilled.Returned), x.Source)
	gauge("spill_filter_bytes", float64(x.Spilled.FilterBytes), x.Source)
	counter("reads_total", float64(x.Reads.Reads), x.Source)
	for _, cause := range window.Causes() {
		n := int64(0)
		if i := slices.IndexFunc(x.Reads.Why, func(w window.Why) bool { return w.Cause == cause }); i >= 0 {
			n = x.Reads.Why[i].Reads
		}
		gauge("undecided_reads", float64(n), x.Source, cause)
	}
	levels := make([]string, 0, len(x.Verdicts))
	for level := range x.Verdicts {
		levels = append(levels, level)
	}
	slices.Sort(levels)
	for _, level := range levels {
		gauge("open_by_contract", truth(healthy(x, x.Verdicts[level])), x.Source, level)
		gauge("verdict", verdictValue(x.Verdicts[level].Verdict), x.Source, level)
		gauge("decided_ratio", x.Verdicts[level].Share, x.Source, level)
	}
}

func collectStore(m store.Metrics, counter, gauge emit) {
	gauge("store_tree_bytes", float64(m.TreeBytes))
	gauge("store_value_log_bytes", float64(m.ValueLogBytes))
	counter("store_commits_total", float64(m.Commits))
	counter("store_committed_bytes_total", float64(m.Bytes))
	counter("store_committed_entries_total", float64(m.Entries))
	gauge("store_last_commit_seconds", m.LastCommit.Seconds())
	gauge("store_longest_commit_seconds", m.MaxCommit.Seconds())
	counter("store_syncs_total", float64(m.Syncs))
	gauge("store_last_sync_seconds", m.LastSync.Seconds())
	gauge("store_snapshot_generation", float64(m.Generation))
	gauge("store_dead_bytes", float64(m.DeadBytes))
	counter("store_upkeep_failures_total", float64(m.UpkeepFailures))
}

// seconds of ns since the Unix epoch; 0 stays 0, which says not yet.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func verdictValue(verdict string) float64 {
	switch verdict {
	case window.OK:
		return 0
	case window.Violated:
		return 2
	}
	return 1
}

// BuildTime is when the revision was made that the program was built from, zero where
// the build does not say.
func BuildTime() time.Time {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "vcs.time" {
				if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
					return t
				}
			}
		}
	}
	return time.Time{}
}

// BuildInfo names the program's version, its revision and the version of Go; "unknown" where the build
// does not say.
func BuildInfo() []string {
	version, revision, goVersion := "unknown", "unknown", "unknown"
	if b, ok := debug.ReadBuildInfo(); ok {
		goVersion = b.GoVersion
		if b.Main.Version != "" {
			version = b.Main.Version
		}
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return []string{version, revision, goVersion}
}
