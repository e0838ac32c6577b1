package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/page"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// A page is read by people: with more findings it opens slowly, and the JSON has all. It has an example of each group first, and
// counts all.
const (
	mostOfPart   = 100
	mostOfReport = 500
)

// raws is for how many findings of a file it shows the records as they came in. The JSON has them decoded.
func (r *reportFile) raws() int {
	if r.isHTML() {
		return mostOfPart
	}
	return 0
}

// reportPage is the page of reports on files or sources.
func reportPage(heading string, reports []whole.Report) *page.Report {
	p := &page.Report{Heading: heading, Made: time.Now()}
	left := mostOfReport
	for i := range reports {
		others := len(reports) - i
		share := min((left+others-1)/others, mostOfPart) // the next ones have what one leaves
		part := partOf(&reports[i], share)
		left -= min(share, len(part.Findings))
		p.Parts = append(p.Parts, part)
	}
	return p
}

// partOf is the part of a page about one file or source, with so many of its findings.
func partOf(r *whole.Report, most int) page.Part {
	if r.Error != "" {
		return page.Part{Heading: r.File, Fault: finding.OneLine(r.Error)}
	}
	part := page.Part{Heading: r.File, Notes: r.Notes, Findings: r.Findings, Most: cmp.Or(most, -1), Raws: r.Raws, Numbers: r.Numbers, Contract: r.Contract}
	for i := range r.Panes {
		p := &r.Panes[i]
		part.Panes = append(part.Panes, page.Pane{Start: p.Start, End: p.End, Verdicts: p.Verdicts, ByContract: p.ByContract})
		if part.Timed = p.Timed(); part.Timed != r.Panes[0].Timed() { // of two sources, which have no time in common
			part.Panes = nil
			break
		}
	}
	c := &r.Counters
	for _, x := range []struct {
		name string
		n    int64
	}{{"transactions", r.Transactions}, {"operations", c.Operations}, {"findings", int64(len(r.Findings))}, {"bad records", c.DeadLetters}} {
		part.Facts = append(part.Facts, page.Fact{Name: x.name, Text: fmt.Sprint(x.n)})
	}
	for _, l := range isolation.AllLevels() {
		verdict, asked := r.Verdicts[l.String()]
		if !asked {
			continue
		}
		why := []string{}
		if reason := r.Reasons[l.String()]; reason != "" {
			why = append(why, reason)
		}
		if share := r.Share(l.String()); share != "" {
			why = append(why, share+" of reads decided")
		}
		part.Verdicts = append(part.Verdicts, page.Verdict{Level: l.String(), Verdict: verdict, Why: strings.Join(why, "; ")})
	}
	return part
}

// withStored are the reports on sources with the findings that the data folder holds, as a shows them. Those that a
// page shows have their records as they came in.
func (r *reportFile) withStored(ctx context.Context, a *app.App, data string, reports []whole.Report) ([]whole.Report, error) {
	kind := app.Findings
	if r.isHTML() {
		kind = app.Evidence
	}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait) // Ctrl-C ends a run, and not its report
	defer cancel()
	groups := make([]map[string]bool, len(reports)) // that have an example with its records
	for i := range groups {
		groups[i] = map[string]bool{}
		reports[i].Contract = a.CheckContract(reports[i].File)
	}
	err := app.ReadStored(reading, data, kind, func(record []byte) error {
		var f finding.Finding
		if err := json.Unmarshal(record, &f); err != nil {
			return err
		}
		a.HideValues(&f)
		for i := range reports {
			if reports[i].File == f.Source {
				of := catalog.GroupOf(&f)
				key := of.Key()
				if example := !groups[i][key] && len(groups[i]) < r.raws(); example {
					groups[i][key] = true
				} else if len(reports[i].Findings) >= r.raws() {
					f.Raw = nil
				}
				reports[i].Findings = append(reports[i].Findings, f)
			}
		}
		return nil
	})
	if err != nil {
		return reports, err
	}
	return reports, app.ReadStored(reading, data, app.Panes, func(record []byte) error {
		var p window.Pane
		if err := json.Unmarshal(record, &p); err != nil {
			return err
		}
		for i := range reports {
			if reports[i].File == p.Source {
				reports[i].Panes = append(reports[i].Panes, p)
			}
		}
		return nil
	})
}

// hideKey is the key of the app's hashes where w hides values, "" where it shows them.
func hideKey(a *app.App, w *config.Watch) string {
	if w.ShowValues {
		return ""
	}
	return a.HideKey()
}
