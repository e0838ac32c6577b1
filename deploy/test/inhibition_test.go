package deploytest

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"
)

// TestCauseInhibits posts alerts of a group to an Alertmanager with the sample's configuration. What follows from another one is
// suppressed, and the rest stays active.
func TestCauseInhibits(t *testing.T) {
	am, _ := sampleAlertmanager(t)
	of := func(name string, labels ...string) map[string]string {
		all := map[string]string{"alertname": name, "job": "shop", "namespace": "db"}
		for i := 0; i < len(labels); i += 2 {
			all[labels[i]] = labels[i+1]
		}
		return all
	}
	post := func(ends time.Time, alerts ...map[string]string) {
		t.Helper()
		var list []map[string]any
		for _, labels := range alerts {
			list = append(list, map[string]any{"labels": labels, "endsAt": ends})
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Post("http://"+am+"/api/v2/alerts", "application/json", bytes.NewReader(text))
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(err, answer)
		}
		answer.Body.Close()
	}
	for _, c := range []struct {
		cause   map[string]string
		follows []map[string]string
		not     []map[string]string // of another group, or no consequence
	}{
		{
			of("IsowatchInputDown", "pod", "watch-0", "instance", "a:1", "input", "nats:S", "severity", "critical"),
			[]map[string]string{of("IsowatchGroupUnwatched", "unit", "nats:S:b", "severity", "critical")},
			[]map[string]string{of("IsowatchGroupUnwatched", "unit", "nats:T", "namespace", "other", "severity", "critical"), of("IsowatchGroupSplitSources", "severity", "warning")},
		},
		{
			of("IsowatchGroupUnwatched", "unit", "nats:S:b", "severity", "critical"),
			[]map[string]string{of("IsowatchGroupHoldsFindings", "pod", "watch-0", "instance", "a:1", "severity", "critical")},
			[]map[string]string{of("IsowatchGroupHoldsFindings", "namespace", "other", "severity", "critical")},
		},
		{
			of("IsowatchDown", "severity", "critical"),
			[]map[string]string{of("IsowatchGroupMemberDown", "pod", "watch-0", "instance", "a:1", "severity", "warning")},
			[]map[string]string{of("IsowatchGroupMemberDown", "job", "stock", "pod", "watch-0", "instance", "b:1", "severity", "warning")},
		},
		{
			of("IsowatchGroupMemberDown", "pod", "watch-0", "instance", "a:1", "severity", "warning"),
			[]map[string]string{of("KubePodCrashLooping", "pod", "watch-0", "severity", "warning")},
			[]map[string]string{of("KubePodCrashLooping", "pod", "watch-1", "severity", "warning")},
		},
	} {
		all := append(append([]map[string]string{c.cause}, c.follows...), c.not...)
		post(time.Now().Add(time.Hour), all...)
		within(t, time.Minute, c.cause["alertname"]+" inhibits what follows, and nothing else", func() bool {
			return len(alertStates(t, am)) == len(all) && holds(alertStates(t, am), "suppressed", c.follows...) && holds(alertStates(t, am), "active", append(c.not, c.cause)...)
		})
		post(time.Now().Add(-time.Second), all...)
		within(t, time.Minute, "they have ended", func() bool { return len(alertStates(t, am)) == 0 })
	}
}

// labelled is an alert with its state.
type labelled struct {
	Labels map[string]string
	Status struct{ State string }
}

func alertStates(t *testing.T, address string) (all []labelled) {
	t.Helper()
	if status, body := get(t, "http://"+address+"/api/v2/alerts"); status != http.StatusOK || json.Unmarshal([]byte(body), &all) != nil {
		t.Fatalf("%d %s", status, body)
	}
	return all
}

// holds says whether each of these alerts is there in the state.
func holds(all []labelled, state string, alerts ...map[string]string) bool {
	for _, want := range alerts {
		found := false
		for _, a := range all {
			found = found || maps.Equal(a.Labels, want) && a.Status.State == state
		}
		if !found {
			return false
		}
	}
	return true
}
