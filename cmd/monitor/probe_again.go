package main

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// mostAgain is how many records are kept to be looked at again: as a whole history they take some 2 KB of
// memory each.
const mostAgain = 50_000

// again keeps the records of a probe in a file of its own. A whole history may decide what a stream
// leaves open, such as the order of additions to counters.
type again struct {
	file *os.File
	to   *bufio.Writer
	n    int
	lost bool // there were more, or they could not be written
}

func newAgain(folder string) (*again, error) {
	file, err := os.CreateTemp(folder, "probe-*.jsonl")
	if err != nil {
		return nil, usageError{err}
	}
	return &again{file: file, to: bufio.NewWriter(file)}, nil
}

// write keeps a line.
func (x *again) write(line []byte) {
	if x.n++; x.n > mostAgain {
		x.lost = true
	}
	if !x.lost {
		_, err := x.to.Write(line)
		x.lost = err != nil
	}
}

// remove ends it.
func (x *again) remove() error { return errors.Join(x.file.Close(), os.Remove(x.file.Name())) }

// decide looks at all records once more, where the stream left the expected level open, and puts the
// verdict into the report. It returns what was found if that is a violation.
func (x *again) decide(p *probeFlags, told *probeReport, hideKey string) (found []finding.Finding) {
	if len(told.Sources) != 1 || x.lost || x.to.Flush() != nil {
		return nil
	}
	watch := *p.service.WatchOf(probeSource)
	level := watch.Expect.String()
	if told.Sources[0].Verdicts[level] != window.Unknown {
		return nil
	}
	watch.Levels, watch.Named = []isolation.Level{watch.Expect}, true
	if _, err := x.file.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	w := whole.Whole{Watch: watch, Expecting: true, FixedContract: true, HideKey: hideKey, Stdin: x.file, Called: app.ProbeInput}
	r, err := w.CheckFile("-")
	if err != nil || r.Outcome() == window.Unknown {
		return nil
	}
	told.Again = true
	told.Sources[0].Verdicts[level] = r.Outcome()
	delete(told.Sources[0].Reasons, level)
	if r.Outcome() != window.Violated {
		return nil
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Kind == finding.KindViolation && !f.Expected {
			told.Violations[f.Anomaly]++
			found = append(found, *f)
		}
	}
	return found
}
