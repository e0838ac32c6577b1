package main

import (
	"cmp"
	"slices"
	"time"
)

// fate says how a planted bug ended.
type fate uint8

const (
	alerted fate = iota // found, and a violation of the expected level
	allowed             // found; the expected level allows it
	noTrace             // no answer to a client shows it
	waiting             // the demo ended before it could be found
	missed              // an answer shows it, and it was not found
	fates
)

// fateOf returns the fate of p and, if p left no trace, the reason. A bug without a finding of its own
// may be part of a finding about another bug. The two then share a transaction and a key.
func (s *story) fateOf(p *planted, lasted time.Duration) (f fate, why string) {
	if p.as == nil {
		i := slices.IndexFunc(s.found[p.Other], func(x *told) bool { return slices.Contains(x.keys, p.Key) })
		if i >= 0 {
			p.as = s.found[p.Other][i]
		}
	}
	switch {
	case p.as != nil && p.as.alerted:
		return alerted, ""
	case s.unanswered[p.Txn] || s.unanswered[p.Other]:
		p.as = nil // a finding that is allowed is about something else
		return noTrace, "a client got no answer to its COMMIT, so nobody knows whether that was committed"
	case p.as != nil:
		return allowed, ""
	case p.Bug == "stale read":
		return noTrace, "the client had met nothing newer before, so nothing shows that the data were old"
	case lasted-p.at < 2*s.patience: // a busy machine takes longer
		return waiting, ""
	}
	return missed, ""
}

// ending has the fates of all planted bugs.
type ending struct {
	rows   [len(bugNames)]row
	names  []tally // under which bugs were found
	traces []tally // reasons for which bugs left none
	expect string  // level
	level  string  // one that forbids what the expected level allows

	patience, lasted time.Duration
}

// row counts the fates of the bugs of one name.
type row struct {
	planted     int
	by          [fates]int
	least, most time.Duration // from planted to found
}

// tally is how often something was said of a bug.
type tally struct {
	bug, text, why string
	times          int
}

// ending gives the fates of all when the demo has lasted so long.
func (s *story) ending(lasted time.Duration) *ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &ending{expect: s.expect, patience: s.patience, lasted: lasted}
	for _, p := range s.bugs {
		f, why := s.fateOf(p, lasted)
		e.rows[slices.Index(bugNames[:], p.Bug)].add(p, f)
		switch f {
		case allowed:
			e.level = cmp.Or(e.level, p.as.forbidden(s.expect))
		case noTrace:
			e.traces = count(e.traces, tally{bug: p.Bug, text: why})
		}
		if p.as != nil {
			t := tally{bug: p.Bug, text: p.as.name()}
			if p.as.title != p.Bug {
				t.why = p.as.why()
			}
			e.names = count(e.names, t)
		}
	}
	slices.SortStableFunc(e.names, func(a, b tally) int {
		return cmp.Or(slices.Index(bugNames[:], a.bug)-slices.Index(bugNames[:], b.bug), b.times-a.times, cmp.Compare(a.text, b.text))
	})
	return e
}

// forbidden is a level that the finding violates: the expected one with the order of sessions, if it
// is one.
func (s *told) forbidden(expect string) string {
	if stronger := "strong-session-" + expect; slices.Contains(s.levels, stronger) || len(s.levels) == 0 {
		return stronger
	}
	return s.levels[0]
}

func (r *row) add(p *planted, f fate) {
	r.planted++
	r.by[f]++
	if p.found == 0 {
		return
	}
	d := p.found - p.at
	if r.most == 0 {
		r.least = d
	}
	r.least, r.most = min(r.least, d), max(r.most, d)
}

// count counts t among all.
func count(all []tally, t tally) []tally {
	i := slices.IndexFunc(all, func(x tally) bool { return x.bug == t.bug && x.text == t.text })
	if i < 0 {
		i, all = len(all), append(all, t)
	}
	all[i].times++
	return all
}
