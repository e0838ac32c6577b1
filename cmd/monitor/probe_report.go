package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/render/page"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/window"
)

// probeReport is the JSON of --report: the probed database, and the result.
type probeReport struct {
	Product      string           `json:"product,omitempty"`
	Version      string           `json:"version,omitempty"`
	Isolation    string           `json:"isolation,omitempty"` // that transactions asked for
	Epoch        string           `json:"epoch"`
	Workload     string           `json:"workload"`
	Seed         uint64           `json:"seed"`
	Expect       string           `json:"expect"`
	Transactions map[string]int64 `json:"transactions"` // by outcome
	Latency      map[string]int64 `json:"latency_ns"`   // p50, p99, max
	Violations   map[string]int64 `json:"violations"`   // of the expected level, by anomaly
	Allowed      map[string]int64 `json:"allowed"`      // by it, by anomaly
	Faults       string           `json:"faults,omitempty"`
	Again        bool             `json:"as_one_history,omitempty"` // the stream left the level open, and all records together decide it
	Sources      []app.Report     `json:"sources"`

	level string            // that is expected, by its name
	found []finding.Finding // that the service did not make
}

// sumUp joins the status and the counts.
func (p *probeFlags) sumUp(b *begun, status *engine.Status, sources []app.Report, s *probe.Stats) *probeReport {
	committed, aborted, unknown := s.Outcomes()
	r := &probeReport{
		Product: b.db.Product, Version: b.db.Version, Isolation: b.db.Isolation, Epoch: b.options.Epoch, Workload: b.work.Name(), Seed: b.options.Seed,
		Expect:       p.service.WatchOf(probeSource).Expected(),
		level:        p.service.WatchOf(probeSource).Expect.String(),
		Transactions: map[string]int64{"committed": committed, "aborted": aborted, "unknown": unknown},
		Latency:      map[string]int64{"p50": int64(s.Latency(0.5)), "p99": int64(s.Latency(0.99)), "max": int64(s.Latency(1))},
		Violations:   map[string]int64{}, Allowed: map[string]int64{}, Faults: p.faults.summary(), Sources: sources,
	}
	for i := range status.Sources {
		for anomaly, found := range status.Sources[i].Findings {
			if found.Violating > 0 {
				r.Violations[anomaly] += found.Violating
			}
			if found.Expected > 0 {
				r.Allowed[anomaly] += found.Expected
			}
		}
	}
	return r
}

// page is the report for people.
func (r *probeReport) page() *page.Report {
	p := reportPage("monitor probe", r.Sources)
	n := r.Transactions
	for _, x := range []page.Fact{
		{Name: "database", Text: strings.TrimSpace(r.Product + " " + r.Version)},
		{Name: "asked for", Text: r.Isolation},
		{Name: "expected", Text: r.Expect},
		{Name: "workload", Text: fmt.Sprintf("%s, seed %d", r.Workload, r.Seed)},
		{Name: "transactions", Text: fmt.Sprintf("%d committed, %d aborted, %d unknown", n["committed"], n["aborted"], n["unknown"])},
		{Name: "latency", Text: fmt.Sprintf("p50 %v, p99 %v, max %v", time.Duration(r.Latency["p50"]), time.Duration(r.Latency["p99"]), time.Duration(r.Latency["max"]))},
		{Name: "violations", Text: anomalies(r.Violations)},
		{Name: "allowed", Text: anomalies(r.Allowed)},
		{Name: "faults", Text: r.Faults},
	} {
		if x.Text != "" {
			p.Facts = append(p.Facts, x)
		}
	}
	return p
}

// enoughTries is how many transactions must have failed before a database is said to commit nothing.
const enoughTries = 20

// refused says that the database committed nothing but the first rows, in many tries. Nothing
// was violated then, and nothing was seen either: the verdict is unknown.
func (r *probeReport) refused() bool {
	n, verdicts := r.Transactions, r.Sources[0].Verdicts
	if n["committed"] > 1 || n["aborted"]+n["unknown"] < enoughTries || verdicts[r.level] != window.OK {
		return false
	}
	verdicts[r.level] = window.Unknown
	r.Sources[0].Reasons[r.level] = "only the transaction that made the first rows has committed"
	return true
}

// anomalies lists counts by anomaly, as "3 G2, 12 G2-item".
func anomalies(counts map[string]int64) string {
	var texts []string
	for anomaly, n := range counts {
		texts = append(texts, fmt.Sprintf("%d %s", n, anomaly))
	}
	slices.SortFunc(texts, func(a, b string) int {
		return strings.Compare(a[strings.Index(a, " "):], b[strings.Index(b, " "):])
	})
	return strings.Join(texts, ", ")
}
