package main

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
)

// summary is a table at the end of an answer: the first row names the columns.
type summary [][]string

func (s *summary) add(cells ...string) { *s = append(*s, cells) }

// append appends the table.
func (s summary) append(dst []byte) []byte {
	widths := make([]int, len(s[0]))
	for _, row := range s {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	if len(dst) > 0 {
		dst = append(dst, '\n')
	}
	for _, row := range s {
		var b strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&b, "%-*s  ", widths[i], cell)
		}
		dst = append(dst, strings.TrimRight(b.String(), " ")+"\n"...)
	}
	return dst
}

// checked are the tables at the end of a check: a row a file if there are several, or a row a level.
type checked struct {
	files summary
	last  *whole.Report // nil: none can be read
}

func newChecked() *checked {
	return &checked{files: summary{{"file", "transactions", "findings", "verdict"}}}
}

func (c *checked) add(r *whole.Report) {
	c.last = r
	c.files.add(printable(r.File), fmt.Sprint(r.Transactions), fmt.Sprint(len(r.Findings)), r.Outcome())
}

func (c *checked) unreadable(file string) {
	c.files.add(printable(file), "-", "-", "cannot be read")
}

func (c *checked) append(dst []byte) []byte {
	switch {
	case c.last == nil:
		return dst // standard error says that they cannot be read
	case len(c.files) > 2:
		return c.files.append(dst)
	}
	r, n := c.last, &c.last.Counters
	levels := summary{{"level", "verdict", "findings", "reads decided"}}
	for _, l := range isolation.AllLevels() {
		if verdict, asked := r.Verdicts[l.String()]; asked {
			levels.add(l.String(), verdict, fmt.Sprint(len(r.Refuting(l))), orDash(r.Share(l.String())))
		}
	}
	dst = append(levels.append(dst), '\n')
	return fmt.Appendf(dst, "%s (%d committed, %d aborted, %d unknown), %s, %s\n",
		whole.Plural(r.Transactions, "transaction", "transactions"), n.Committed, n.Aborted, n.Unknown,
		whole.Plural(int64(len(r.Findings)), "finding", "findings"), whole.Plural(n.DeadLetters, "bad record", "bad records"))
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
