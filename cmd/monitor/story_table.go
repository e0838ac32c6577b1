package main

import (
	"fmt"

	"github.com/isowatch/isowatch/internal/app"
)

// append sets what was planted against what was found, and says what the table means.
func (e *ending) append(dst []byte, all *app.DemoSummary) []byte {
	var sum [fates]int
	for i := range e.rows {
		for f, n := range e.rows[i].by {
			sum[f] += n
		}
	}
	dst = fmt.Appendf(dst, "%d transactions were checked in %.1f s. The database promised %s. %s that promise.\n\n",
		all.Transactions, e.lasted.Seconds(), e.expect, broke(sum[alerted]))
	dst = fmt.Appendf(dst, "  %-11s %8s %8s %8s %9s %8s %7s   %s\n", "bug", "planted", "alerted", "allowed", "no trace", "not yet", "missed", "found after")
	for i := range e.rows {
		dst = e.rows[i].append(dst, bugNames[i])
	}
	dst = append(e.appendLegend(append(dst, '\n'), &sum), '\n')
	return appendCounts(e.appendNames(dst), all.Findings)
}

// appendCounts says how many findings there are.
func appendCounts(dst []byte, findings []app.AnomalyCount) []byte {
	var alerted, all int64
	for _, f := range findings {
		alerted, all = alerted+f.Alerted, all+f.Alerted+f.Expected
	}
	return fmt.Appendf(dst, "\nThe monitor made %d findings, and %d of them are alerts. One bug can show in several.\n", all, alerted)
}

func (r *row) append(dst []byte, bug string) []byte {
	dst = fmt.Appendf(dst, "  %-11s %8d %8d %8d %9d %8d %7d", bug, r.planted, r.by[alerted], r.by[allowed], r.by[noTrace], r.by[waiting], r.by[missed])
	if least, most := ms(r.least), ms(r.most); r.most > 0 && least == most {
		dst = fmt.Appendf(dst, "   %s", most)
	} else if r.most > 0 {
		dst = fmt.Appendf(dst, "   %s to %s", least, most)
	}
	return append(dst, '\n')
}

// appendLegend explains the columns in which there is a bug.
func (e *ending) appendLegend(dst []byte, sum *[fates]int) []byte {
	if sum[alerted] > 0 {
		dst = fmt.Appendf(dst, "  alerted   It was found, and %s forbids it.\n", e.expect)
	}
	if sum[allowed] > 0 {
		dst = fmt.Appendf(dst, "  allowed   It was found, and %s allows it. It is counted, and nobody is alerted.\n", e.expect)
		dst = fmt.Appendf(dst, "            To be alerted, expect more: monitor demo --expect %s\n", e.level)
	}
	for _, t := range e.traces {
		dst = fmt.Appendf(dst, "  no trace  %s, %s: %s.\n", t.bug, times(t.times), t.text)
	}
	if sum[waiting] > 0 {
		dst = fmt.Appendf(dst, "  not yet   The demo ended too soon. A dirty read is told after %s, when no record on its way can explain it.\n", ms(e.patience))
	}
	if sum[missed] > 0 {
		dst = fmt.Appendf(dst, "  missed    The clients' answers show it, and the monitor did not find it. Please report this.\n")
	}
	return dst
}

// appendNames says under which names the bugs were found.
func (e *ending) appendNames(dst []byte) []byte {
	if len(e.names) == 0 {
		return fmt.Appendf(dst, "Nothing was found yet.\n")
	}
	dst = fmt.Appendf(dst, "They were found under these names. monitor explain NAME says more.\n\n")
	for _, t := range e.names {
		dst = fmt.Appendf(dst, "  %-11s %4d  %s", t.bug, t.times, t.text)
		if t.why != "" {
			dst = fmt.Appendf(dst, ": %s", t.why)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// broke says how many of the planted bugs broke the promise.
func broke(bugs int) string {
	if bugs == 1 {
		return "One planted bug broke"
	} else if bugs == 0 {
		return "No planted bug broke"
	}
	return fmt.Sprintf("%d planted bugs broke", bugs)
}

// times is how often: once, 2 times.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
