package deploytest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// resultsPath is the page with the dashboard's queries and what they return.
const resultsPath = "../../docs/dashboard.md"

// mostSeries of a query are shown.
const mostSeries = 8

// resultsPage is that page, as it is written.
type resultsPage struct {
	bytes.Buffer
	queries int
}

func (p *resultsPage) begin() {
	p.WriteString("# The dashboard's queries\n\n" +
		"Each panel of [the dashboard for Grafana](../deploy/grafana/isowatch.json), its queries, and what they return. `TestPanels` in `deploy/test` runs each\n" +
		"of them on a real Prometheus. That scrapes a monitor with the source `orders`, which loses updates and skews writes. The monitor's Alertmanager is away.\n" +
		"The queries about a group run on a member that watches a stream alone.\n" +
		"The test compares queries and series. The values come from one run, with two digits. `go test -run TestPanels . -rewrite` writes this page.\n")
}

func (p *resultsPage) panel(title, description string, row bool) {
	level := "###"
	if row {
		level = "##"
	}
	fmt.Fprintf(p, "\n%s %s\n", level, title)
	if description != "" {
		fmt.Fprintf(p, "\n%s\n", description)
	}
}

// result is a query with its series, by their names.
func (p *resultsPage) result(expr, legend string, series []sample, names map[string]string) string {
	var lines []string
	for _, s := range series {
		lines = append(lines, fmt.Sprintf("%s: %s", nameOf(legend, s.labels, names), rounded(s.value)))
	}
	slices.Sort(lines)
	n := min(len(lines), mostSeries)
	text := "\n```promql\n" + expr + "\n```\n\n```text\n" + strings.Join(lines[:n], "\n") + "\n"
	if more := len(lines) - n; more > 0 {
		text += fmt.Sprintf("and %d more\n", more)
	}
	return text + "```\n"
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// own are labels whose values are those of a test's processes.
var own = []string{"instance", "job", "url", "version", "goversion"}

// nameOf returns what Grafana calls a series. Addresses have the names given. Without a legend it has its labels, which a table shows as columns.
func nameOf(legend string, labels, names map[string]string) string {
	if legend != "" {
		return placeholder.ReplaceAllStringFunc(legend, func(of string) string {
			label := labels[of[2:len(of)-2]]
			return cmp.Or(names[label], label)
		})
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		switch {
		case name == "__name__" || name == "revision": // a build outside of a repository has none
		case slices.Contains(own, name):
			parts = append(parts, name)
		default:
			parts = append(parts, name+"="+labels[name])
		}
	}
	if len(parts) == 0 {
		return "value"
	}
	return strings.Join(parts, ", ")
}

// rounded is a number with two digits that count.
func rounded(value string) string {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	if err != nil {
		return value
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

var sampleValue = regexp.MustCompile(`(?m): -?[0-9.]+$`)

// shapeOf is the text without values.
func shapeOf(text []byte) []byte { return sampleValue.ReplaceAll(text, []byte(": #")) }
