package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/alert/words"
	"github.com/isowatch/isowatch/finding"
)

// story tells of a demo which bug was planted when, and when it was found. It is a sink of all
// findings. Safe for concurrent use.
type story struct {
	say   func(format string, args ...any)
	began time.Time

	mu    sync.Mutex
	bugs  []*planted // in the order in which they were planted
	byTxn map[string]*planted
	first *finding.Finding // the one to explain at the end
}

// planted is a transaction that suffered a bug of the database. Times are since the demo began.
type planted struct {
	bug, txn  string
	at, found time.Duration // found 0: not yet
}

// does says what a transaction that suffers the bug does.
var does = map[string]string{
	"lost update": "overwrites what another transaction has just written",
	"write skew":  "commits, although another transaction has changed what it read",
	"stale read":  "reads old data",
	"dirty read":  "reads data that were never committed",
}

func newStory(say func(string, ...any)) *story {
	return &story{say: say, began: time.Now(), byTxn: map[string]*planted{}}
}

// plant takes note of a transaction that suffered a bug, before it can be found.
func (s *story) plant(bug, txn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &planted{bug: bug, txn: txn, at: time.Since(s.began)}
	s.bugs, s.byTxn[txn] = append(s.bugs, p), p
	s.say("%6.1f s  planted: %s. %s %s.", p.at.Seconds(), bug, printable(txn), does[bug])
}

// Name is "story".
func (s *story) Name() string { return "story" }

// Deliver tells which planted bugs the findings show.
func (s *story) Deliver(_ context.Context, findings []alert.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range findings {
		f := &findings[i].Finding
		if f.Kind != finding.KindViolation || f.State == finding.Withdrawn {
			continue
		}
		s.first = worse(s.first, f)
		for _, id := range f.Txns {
			if p := s.byTxn[id]; p != nil && p.found == 0 {
				p.found = time.Since(s.began)
				s.say("%6.1f s  found:   %s of %s, %s later. Finding %s%s.", p.found.Seconds(), p.bug, printable(id), short(p.found-p.at), f.ID, unshown(f))
			}
		}
	}
	return nil
}

// unshown says why a finding is not among those that are printed, "" if it is.
func unshown(f *finding.Finding) string {
	switch verdict, _ := words.VerdictOf(f); verdict {
	case words.Violated:
		return ""
	case words.Allowed:
		return ", which the expected level allows: it is counted and not shown"
	}
	return ", which a record that is missing could explain: it is counted and not shown"
}

// bugRow is what became of the bugs of one name.
type bugRow struct {
	bug            string
	planted, found int
	first          *planted // that was found
}

// rows are the bugs by name, in the order in which they were planted first.
func (s *story) rows() []bugRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []bugRow
	for _, p := range s.bugs {
		i := slices.IndexFunc(rows, func(r bugRow) bool { return r.bug == p.bug })
		if i < 0 {
			i = len(rows)
			rows = append(rows, bugRow{bug: p.bug})
		}
		r := &rows[i]
		r.planted++
		if p.found > 0 {
			if r.found++; r.first == nil {
				r.first = p
			}
		}
	}
	return rows
}

// appendTable sets what was planted against what was found.
func (s *story) appendTable(dst []byte, transactions int64) []byte {
	rows, all := s.rows(), 0
	for _, r := range rows {
		all += r.planted
	}
	dst = fmt.Appendf(dst, "%s checked in %.1f s. The database broke its promise in %d of them:\n\n", finding.Counted(transactions, "transaction", "transactions"), time.Since(s.began).Seconds(), all)
	dst = fmt.Appendf(dst, "  %-12s %8s %6s   %s\n", "bug", "planted", "found", "the first one that was found")
	for _, r := range rows {
		first := "none"
		if r.first != nil {
			first = fmt.Sprintf("planted at %.1f s, found %s later", r.first.at.Seconds(), short(r.first.found-r.first.at))
		}
		dst = fmt.Appendf(dst, "  %-12s %8d %6d   %s\n", r.bug, r.planted, r.found, first)
	}
	return fmt.Appendf(dst, "\nA bug is an anomaly only if some transaction sees it: the others left no trace.\n")
}
