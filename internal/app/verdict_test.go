package app

import (
	"testing"

	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
)

func TestOutcome(t *testing.T) {
	verdicts := func(ser, si string) *engine.SourceStatus {
		return &engine.SourceStatus{Verdicts: map[string]engine.Verdict{
			"serializable": {Verdict: ser}, "snapshot-isolation": {Verdict: si},
		}}
	}
	both := levels(t, "serializable,snapshot-isolation")
	for _, c := range []struct {
		sources []*engine.SourceStatus
		asked   []isolation.Level
		want    string
	}{
		{nil, both, "ok"},
		{[]*engine.SourceStatus{verdicts("ok", "ok")}, both, "ok"},
		{[]*engine.SourceStatus{verdicts("ok", "unknown")}, both, "unknown"},
		{[]*engine.SourceStatus{verdicts("violated", "unknown")}, both, "violated"},
		{[]*engine.SourceStatus{verdicts("violated", "unknown")}, both[1:], "unknown"},
		{[]*engine.SourceStatus{verdicts("unknown", "ok"), verdicts("violated", "ok"), verdicts("ok", "ok")}, both, "violated"},
		{[]*engine.SourceStatus{verdicts("violated", "ok"), verdicts("ok", "ok")}, both[1:], "ok"},
	} {
		if got := Outcome(&engine.Status{Sources: c.sources}, func(string) []isolation.Level { return c.asked }); got != c.want {
			t.Errorf("%+v, asked %v: %s, want %s", c.sources, c.asked, got, c.want)
		}
	}
}
