package simtest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios print into their files")

// TestScenarios runs every scenario in every manner. What is printed must be as
// written, and the stored findings and deliveries the same to the byte, but for
// the time of detection.
func TestScenarios(t *testing.T) {
	t.Parallel()
	n := 0
	for _, file := range scenarioFiles(t) {
		text := readFile(t, file)
		all, err := parseScenarios(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		printed := make([][][]string, len(all))
		for i := range all {
			name := strings.TrimSuffix(filepath.Base(file), ".txt") + "/" + all[i].name
			t.Run(name, func(t *testing.T) { printed[i] = runScenario(t, file, &all[i], manners(n)) })
			n++
		}
		if *rewrite {
			if err := os.WriteFile(file, []byte(rewritten(text, all, printed)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// runScenario returns what the blocks printed, nil when the expectations stay because
// the first manner differs from them.
func runScenario(t *testing.T, file string, s *scenario, manners []manner) [][]string {
	var printed [][]string
	var stored string
	for i, m := range manners {
		got, bytes, err := play(t, s, m)
		if err != nil {
			t.Fatalf("%s:%v (%s)", file, err, m.name)
		}
		if i == 0 {
			printed, stored = got, bytes
		}
		if bytes != stored {
			t.Errorf("%s:%d: findings differ\nas written:\n%s\n%s:\n%s", file, s.line, stored, m.name, bytes)
		}
		for j := range s.blocks {
			want := s.blocks[j].want
			if *rewrite {
				want = printed[j]
			}
			if slices.Equal(got[j], want) || m.keyCap > 0 && slices.Equal(sayingLess(got[j]), sayingLess(want)) {
				continue
			}
			t.Errorf("%s:%d: %s, got:\n%s\nwant:\n%s", file, s.blocks[j].first, m.name, strings.Join(got[j], "\n"), strings.Join(want, "\n"))
			if i == 0 {
				return nil
			}
		}
	}
	return printed
}

var unorderedReason = regexp.MustCompile(`\d+ keys? without a known version order; |; \d+ keys? without a known version order`)

// sayingLess leaves out of unknown verdicts that a key is without order, where
// another reason stands beside it: no order is tried for keys that went to disk.
func sayingLess(lines []string) []string {
	less := make([]string, len(lines))
	for i, l := range lines {
		less[i] = l
		if strings.HasPrefix(strings.TrimSpace(l), "unknown ") {
			less[i] = unorderedReason.ReplaceAllString(l, "")
		}
	}
	return less
}

// play runs s in the manner m and returns what its blocks printed and the stored
// findings and deliveries as text.
func play(t *testing.T, s *scenario, m manner) (printed [][]string, stored string, err error) {
	w := newWorld(t, m)
	rs := records{map[string]int64{}}
	for i := range s.blocks {
		lines := []string{}
		for _, c := range s.blocks[i].commands {
			out, err := w.command(c, &rs)
			if err != nil {
				return nil, "", fmt.Errorf("%d: %s: %w", c.line, c.name, err)
			}
			lines = append(lines, out...)
		}
		printed = append(printed, lines)
	}
	if fs, err := w.findings(); err == nil {
		for i := range fs {
			if why := misnamed(&fs[i]); why != "" {
				t.Errorf("%s:%d: %s: %s", s.name, s.line, summary(&fs[i]), why)
			}
		}
	}
	stored, err = w.stored()
	return printed, stored, err
}

// command does one line of a scenario and returns what it prints. All but those
// that queue records or settings make what is queued a step first.
func (w *world) command(c command, rs *records) (out []string, err error) {
	switch c.name {
	case "contract", "config":
		if w.engine != nil {
			return nil, fmt.Errorf("settings come before the first step")
		}
		return nil, set(&w.cfg, c.rest)
	case "txn":
		d := delivery{}
		d.partition, d.record, err = rs.parse(c.rest)
		w.queue = append(w.queue, d)
		return nil, err
	case "json":
		d := delivery{}
		d.partition, d.record = raw(c.rest)
		w.queue = append(w.queue, d)
		return nil, nil
	case "gap":
		g := ingest.Gap{}
		d := delivery{gap: &g}
		if _, err := fmt.Sscan(c.rest, &d.partition, &g.From, &g.To, &g.Reason); err != nil {
			return nil, fmt.Errorf("want PARTITION FROM TO REASON: %w", err)
		}
		w.queue = append(w.queue, d)
		return nil, nil
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	switch c.name {
	case "step":
		return nil, nil
	case "tick":
		return nil, w.tick(c.rest)
	case "stall":
		return nil, w.stall(c.rest)
	case "away":
		return nil, w.leave(strings.TrimSpace(c.rest))
	case "back":
		return nil, w.back(strings.TrimSpace(c.rest))
	case "levels":
		return nil, w.levels(c.rest)
	case "ended":
		return w.ended(), nil
	case "crash":
		return nil, w.crash()
	case "restart":
		return nil, w.restart()
	case "pause":
		return nil, w.engine.Pause(context.Background())
	case "end":
		return nil, w.end()
	case "findings":
		return w.printFindings(c.rest)
	case "deliveries":
		return w.deliveries()
	case "explain":
		return w.explain(c.rest)
	case "verdicts":
		return w.verdicts(), nil
	case "decided":
		return w.decided(c.rest), nil
	case "totals":
		return w.totals(), nil
	case "live":
		return w.live(), nil
	case "returned":
		return w.returned(), nil
	case "counters":
		return w.counters(c.rest)
	case "panes":
		return w.panes()
	case "dead-letters":
		return w.deadLetters()
	}
	return nil, fmt.Errorf("no such command")
}

// stored is all findings in their latest revision, and all deliveries, as JSON
// without the time of detection.
func (w *world) stored() (string, error) {
	fs, err := w.findings()
	if err != nil {
		return "", err
	}
	pending, err := engine.Reader{Store: w.store}.Pending("nobody", 1<<30)
	if err != nil {
		return "", err
	}
	for i := range pending {
		fs = append(fs, pending[i].Finding)
	}
	return asText(fs)
}

func asText(fs []finding.Finding) (string, error) {
	var b strings.Builder
	for i := range fs {
		f := fs[i]
		f.DetectedAt, f.FoundAt = "", ""
		text, err := json.Marshal(&f)
		if err != nil {
			return "", err
		}
		b.Write(append(text, '\n'))
	}
	return b.String(), nil
}
