package app

import (
	"sync"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

const (
	// stuckAfter and stuckTries: a database that answers, and has committed nothing for this time and
	// in this many transactions, is not the same database any more. Its tables are gone, for example.
	stuckAfter = time.Minute
	stuckTries = 20
)

// probeWatch is the state of a probe.
type probeWatch struct {
	now func() time.Time

	mu       sync.Mutex
	reached  bool   // once
	problem  string // "": the database answers
	failed   int64  // ns since the Unix epoch: since when it does not; 0: it does
	seconds  map[probe.Phase]time.Duration
	errors   map[probe.Phase]int64
	outcomes map[event.Status]int64
	refused  int       // transactions in a row that were not committed
	last     time.Time // commit, or when it was reached last
}

func newProbeWatch(now func() time.Time) *probeWatch {
	return &probeWatch{
		now: now, problem: "it is not reached yet",
		seconds: map[probe.Phase]time.Duration{}, errors: map[probe.Phase]int64{}, outcomes: map[event.Status]int64{},
	}
}

// phase notes one. It returns what changed: "down", "up" or nothing.
func (w *probeWatch) phase(p probe.Phase, took time.Duration, err error) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seconds[p] = took
	if err == nil {
		if p == probe.Connect { // it is up when a transaction is
			return ""
		}
		return w.answers()
	}
	w.errors[p]++
	return w.fails(err.Error())
}

func (w *probeWatch) fails(why string) string {
	was := w.problem
	w.problem = why
	if w.failed == 0 {
		w.failed = w.now().UnixNano()
	}
	if was == "" || !w.reached && was != why {
		return "down"
	}
	return ""
}

func (w *probeWatch) answers() string {
	was, first := w.problem, !w.reached
	w.problem, w.failed, w.reached = "", 0, true
	if was != "" {
		w.refused, w.last = 0, w.now()
	}
	if was != "" && !first {
		return "up"
	}
	return ""
}

// outcome notes how a transaction ended.
func (w *probeWatch) outcome(s event.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outcomes[s]++
	w.refused++
	if s == event.Committed {
		w.refused, w.last = 0, w.now()
	}
}

// stuck says whether the database answers, and commits nothing.
func (w *probeWatch) stuck() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.problem == "" && w.refused >= stuckTries && w.now().Sub(w.last) >= stuckAfter
}

// ProbeStatus is how a probe fares.
type ProbeStatus struct {
	Source  string `json:"source"`
	Reached bool   `json:"reached"`           // by this process, once
	Problem string `json:"problem,omitempty"` // why the database does not answer
	Since   int64  `json:"since,omitempty"`   // ns since the Unix epoch: it does not since then
}

func (w *probeWatch) status(source string) ProbeStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return ProbeStatus{source, w.reached, w.problem, w.failed}
}

// collect gives the metrics, in the shape of blackbox_exporter's.
func (w *probeWatch) collect(source string, counter, gauge emit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gauge("probe_success", truth(w.problem == ""), source)
	for _, p := range probe.Phases() {
		gauge("probe_duration_seconds", w.seconds[p].Seconds(), source, p.String())
		counter("probe_errors_total", float64(w.errors[p]), source, p.String())
	}
	for _, s := range []event.Status{event.Committed, event.Aborted, event.Unknown} {
		counter("probe_transactions_total", float64(w.outcomes[s]), source, s.String())
	}
}
