package alert

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics count deliveries. Labels are sink names and fixed reasons only.
type Metrics struct {
	delivered  *prometheus.CounterVec
	failed     *prometheus.CounterVec
	rejected   *prometheus.CounterVec
	suppressed *prometheus.CounterVec
	held       *prometheus.CounterVec
	queue      *prometheus.GaugeVec
}

// NewMetrics registers the counters with reg; a nil reg leaves them
// unregistered.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	factory := promauto.With(reg)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		delivered: counter("isowatch_alert_notifications_total",
			"Findings delivered.", "sink"),
		failed: counter("isowatch_alert_notifications_failed_total",
			"Failed attempts to deliver. Each is tried again.", "sink"),
		rejected: counter("isowatch_alert_findings_rejected_total",
			"Findings that were given up because the receiver rejected their content.", "sink"),
		suppressed: counter("isowatch_alert_findings_suppressed_total",
			"Findings that are not alerted because the expected level allows them, or because they are not certain.", "sink", "reason"),
		held: counter("isowatch_alert_findings_held_total",
			"Findings held back because too many of their pattern came. A digest followed.", "sink"),
		queue: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "isowatch_alert_queue_length",
			Help: "Findings read from the outbox and not yet delivered, at most 1000.",
		}, []string{"sink"}),
	}
}

// prepare makes every series of a sink appear at 0, so that a first increment
// shows as one.
func (m *Metrics) prepare(sink string) {
	m.delivered.WithLabelValues(sink)
	m.failed.WithLabelValues(sink)
	m.rejected.WithLabelValues(sink)
	m.suppressed.WithLabelValues(sink, reasonExpected)
	m.suppressed.WithLabelValues(sink, reasonUncertain)
	m.held.WithLabelValues(sink)
	m.queue.WithLabelValues(sink)
}
