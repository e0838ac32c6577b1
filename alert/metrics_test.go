package alert

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func expect(t *testing.T, reg prometheus.Gatherer, name, want string) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	head := ""
	for _, family := range families {
		if family.GetName() == name {
			head = fmt.Sprintf("# HELP %s %s\n# TYPE %s %s", name, family.GetHelp(), name, strings.ToLower(family.GetType().String()))
		}
	}
	want = strings.ReplaceAll(head+want, "\t", "") + "\n"
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
}

func TestFilter(t *testing.T) {
	expected := finding.Finding{ID: "expected", Certain: true, Expected: true}
	uncertain := finding.Finding{ID: "uncertain"}
	both := finding.Finding{ID: "both", Expected: true}
	horizon := finding.Finding{ID: "horizon", Kind: finding.KindHorizon} // not certain as long as it is open
	for _, c := range []struct {
		filter Filter
		want   string
		counts string
	}{
		{Filter{}, "horizon real withdrawn", `{reason="expected",sink="s"} 2|{reason="uncertain",sink="s"} 1`},
		{Filter{Expected: true}, "expected horizon real withdrawn", `{reason="expected",sink="s"} 0|{reason="uncertain",sink="s"} 2`},
		{Filter{Uncertain: true}, "uncertain horizon real withdrawn", `{reason="expected",sink="s"} 2|{reason="uncertain",sink="s"} 0`},
		{Everything(), "expected uncertain both horizon real withdrawn", `{reason="expected",sink="s"} 0|{reason="uncertain",sink="s"} 0`},
	} {
		synctest.Test(t, func(t *testing.T) {
			outbox := &memory{}
			outbox.add(expected, uncertain, both, horizon)
			outbox.add(certain("real")...)
			outbox.add(finding.Finding{ID: "withdrawn", Certain: true, State: finding.Withdrawn})
			sink := newRecorder("s", nil)
			reg := prometheus.NewRegistry()
			d, err := NewDispatcher(outbox, []Route{{Sink: sink, Filter: c.filter}}, Options{Metrics: NewMetrics(reg)})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			d.Close()
			if got := strings.Join(sink.taken, " "); got != c.want {
				t.Errorf("%+v passes %s, want %s", c.filter, got, c.want)
			}
			name := "isowatch_alert_findings_suppressed_total"
			expect(t, reg, name, "\n"+name+strings.ReplaceAll(c.counts, "|", "\n"+name))
			if outbox.cursors["s"] != 6 {
				t.Errorf("cursor %d: what is left out would be counted again", outbox.cursors["s"])
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		outbox := &memory{}
		sink := newRecorder("s", failTimes(1, errDown))
		d := start(t, outbox, Options{Metrics: NewMetrics(reg)}, sink)
		synctest.Wait()
		expect(t, reg, "isowatch_alert_notifications_total", `
			isowatch_alert_notifications_total{sink="s"} 0`) // there before the first
		outbox.add(certain("a", "b", "c")...)
		d.Notify()
		synctest.Wait()
		expect(t, reg, "isowatch_alert_queue_length", `
			isowatch_alert_queue_length{sink="s"} 3`)
		expect(t, reg, "isowatch_alert_notifications_failed_total", `
			isowatch_alert_notifications_failed_total{sink="s"} 1`)
		time.Sleep(time.Minute)
		expect(t, reg, "isowatch_alert_notifications_total", `
			isowatch_alert_notifications_total{sink="s"} 3`)
		expect(t, reg, "isowatch_alert_queue_length", `
			isowatch_alert_queue_length{sink="s"} 0`)
		problems, err := testutil.GatherAndLint(reg)
		if err != nil || len(problems) != 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}
		d.Close()
	})
}
