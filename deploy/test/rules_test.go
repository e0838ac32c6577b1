package deploytest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

const rulesPath = "../prometheus/isowatch.rules.yml"

func readRules(t *testing.T) ruleFile {
	t.Helper()
	var f ruleFile
	if err := yaml.Unmarshal(mustRead(t, rulesPath), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEveryAlertHasRunbookAndTest: an alert without a runbook, a test of promtool's
// that it fires, or a severity is not finished; nor is a runbook without an alert.
func TestEveryAlertHasRunbookAndTest(t *testing.T) {
	tests := string(mustRead(t, "../prometheus/isowatch.test.yml"))
	var alerts []string
	for _, g := range readRules(t).Groups {
		for _, r := range g.Rules {
			alerts = append(alerts, r.Alert)
			if want := "https://github.com/isowatch/isowatch/blob/main/docs/runbooks/" + r.Alert + ".md"; r.Annotations["runbook_url"] != want {
				t.Errorf("%s: runbook_url is %q", r.Alert, r.Annotations["runbook_url"])
			}
			if link := r.Annotations["page_url"]; !strings.Contains(link, "last_over_time(isowatch_pages_info") || !strings.Contains(link, "{{ with $at }}{{ . }}/") {
				t.Errorf("%s: page_url is %q", r.Alert, link)
			}
			if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
				t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
			}
			if _, fires, ok := strings.Cut(tests, "alertname: "+r.Alert+"\n        exp_alerts:\n"); !ok || fires == "" {
				t.Errorf("%s: isowatch.test.yml never makes it fire", r.Alert)
			}
		}
	}
	files, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var books []string
	for _, f := range files {
		books = append(books, strings.TrimSuffix(filepath.Base(f), ".md"))
	}
	slices.Sort(alerts)
	slices.Sort(books)
	if !slices.Equal(alerts, books) {
		t.Errorf("alerts   %v\nrunbooks %v", alerts, books)
	}
}

// TestRulesUseMetricsThatExist: docs/metrics.md lists what there is; a test of
// internal/app keeps that list true.
func TestRulesUseMetricsThatExist(t *testing.T) {
	doc := string(mustRead(t, "../../docs/metrics.md"))
	name := regexp.MustCompile(`isowatch_[a-z_]+`)
	for _, g := range readRules(t).Groups {
		for _, r := range g.Rules {
			for _, m := range name.FindAllString(r.Expr, -1) {
				if !strings.Contains(doc, "`"+m+"`") {
					t.Errorf("%s: there is no metric %s", r.Alert, m)
				}
			}
		}
	}
}
