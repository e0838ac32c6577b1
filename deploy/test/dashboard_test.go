package deploytest

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const dashboardPath = "../grafana/isowatch.json"

// board holds what the tests look at of a dashboard.
type board struct {
	Panels []struct {
		ID          int
		Type        string
		Title       string
		Description string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

func readBoard(t *testing.T) (b board) {
	t.Helper()
	text, err := os.ReadFile(dashboardPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDashboardIsGrafanas reads the dashboard into Grafana's own types; a field or an option of a panel
// that they do not know is an error.
func TestDashboardIsGrafanas(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	var d dashboard.Dashboard
	if err := d.UnmarshalJSONStrict(mustRead(t, dashboardPath)); err != nil && err.Error() != "" { // a list of none is no nil
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil && err.Error() != "" {
		t.Error(err)
	}
}

// TestPanelsHaveTheirPlace: none lies over another, and each has a number of its own.
func TestPanelsHaveTheirPlace(t *testing.T) {
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range readBoard(t).Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d, %q: its number or its title", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x > 23 {
					t.Fatalf("%q lies over %q at %d, %d", p.Title, other, x, y)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	if len(ids) < 20 {
		t.Errorf("%d panels", len(ids))
	}
}

// TestChartHasTheDashboard as Grafana's sidecar looks for it, and leaves out alerts that are not wanted.
func TestChartHasTheDashboard(t *testing.T) {
	all := objects(t, map[string]any{
		"dashboards":     map[string]any{"enabled": true},
		"prometheusRule": map[string]any{"enabled": true, "disabled": []any{"IsowatchAnomaly"}},
	})
	for _, o := range all {
		switch o := o.(type) {
		case *corev1.ConfigMap:
			if o.Labels["grafana_dashboard"] == "1" && o.Data["isowatch.json"] != string(mustRead(t, dashboardPath)) {
				t.Error("the ConfigMap has another dashboard")
			}
		case *monitoring.PrometheusRule:
			names := 0
			for _, r := range o.Spec.Groups[0].Rules {
				names++
				if r.Alert == "IsowatchAnomaly" {
					t.Error("IsowatchAnomaly is there")
				}
			}
			if want := len(readRules(t).Groups[0].Rules) - 1; names != want {
				t.Errorf("%d alerts, want %d", names, want)
			}
		}
	}
	if !slices.ContainsFunc(all, func(o runtime.Object) bool {
		c, ok := o.(*corev1.ConfigMap)
		return ok && c.Labels["grafana_dashboard"] == "1"
	}) {
		t.Error("no ConfigMap with the label of the sidecar")
	}
}
