package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/page"
	"github.com/isowatch/isowatch/internal/whole"
)

// A report counts all findings in their groups. It shows an example of each group first, then the earliest findings, and says how
// many it leaves out.
func TestReportHasEachGroup(t *testing.T) {
	many := func(file string, groups, each int) (r whole.Report) {
		r.File = file
		for g := range groups {
			for n := range each {
				r.Findings = append(r.Findings, finding.Finding{ID: fmt.Sprintf("%s-%d-%d", file, g, n), Source: "s", Anomaly: "G1a", Kind: finding.KindViolation,
					Txns: []string{"T1"}, Names: map[string]string{"T1": fmt.Sprintf("path %d", g)}})
			}
		}
		return r
	}
	shown := regexp.MustCompile(`<article [^>]*id="([^"]*)"`)
	for _, c := range []struct {
		name    string
		reports []whole.Report
		cards   int
		want    []string
	}{
		{"few", []whole.Report{many("a", 2, 3)}, 6, []string{"6 findings in 2 groups"}},
		{"a late group", []whole.Report{many("a", 2, 150)}, 100, []string{
			"300 findings in 2 groups", `<a href="#a-1-0">`, "of path 1 <b>× 150</b>", "This file shows 100 of them: the first of each group, and the earliest others. The other 200 are only counted.",
			"98 more of this group", "51 more of this group are not in this file", "149 more of this group are not in this file"}},
		{"many groups", []whole.Report{many("a", 130, 2)}, 100, []string{
			"260 findings in 130 groups", "the first of each group, as long as there is room", "30 more groups, without an example in this file", "of path 129 <b>× 2</b>", "1 more of this group is not in this file"}},
		{"many files", []whole.Report{many("a", 1, 200), many("b", 1, 90), many("c", 2, 100), many("d", 1, 100), many("e", 1, 100), many("f", 1, 100)}, 500, []string{
			"<h2>f</h2>", `<a href="#f-0-0">`, `<a href="#c-1-0">`}},
	} {
		var b bytes.Buffer
		if err := page.WriteReport(&b, reportPage("monitor check", c.reports)); err != nil {
			t.Fatal(err)
		}
		if n := len(shown.FindAllString(b.String(), -1)); n != c.cards {
			t.Errorf("%s: %d findings are shown, want %d", c.name, n, c.cards)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q", c.name, want)
			}
		}
	}
}

// The example of a late group has its records as they came in, and the JSON has all findings.
func TestReportOfManyFindings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log strings.Builder
	lost := func(n int, name, key string) {
		for i := range 2 {
			fmt.Fprintf(&log, `{"note":"ticket of %s","txn":"T%d-%d","name":%[1]q,"status":"committed","ops":[{"op":"r","key":%[4]q,"value":null},{"op":"w","key":%[4]q,"value":%[5]d}]}`+"\n",
				name, n, i, key, 2*n+i+1)
		}
	}
	for n := range 140 {
		lost(n, "checkout", fmt.Sprint("cart:", n))
	}
	lost(140, "refund", "account")
	history := filepath.Join(dir, "history.jsonl")
	if err := os.WriteFile(history, []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"r.html", "r.json"} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"check", "--report", filepath.Join(dir, name), history}, terminal{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, lookupEnv: os.LookupEnv, environ: os.Environ}); code != 1 {
			t.Fatalf("exit code %d: %s%s", code, &out, &errs)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "r.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"141 findings in 2 groups", "This file shows 100 of them", "ticket of refund"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report has no %q", want)
		}
	}
	var all []whole.Report
	if text, err = os.ReadFile(filepath.Join(dir, "r.json")); err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all) != 1 || len(all[0].Findings) != 141 {
		t.Errorf("the JSON does not have all findings: %v", err)
	}
}
