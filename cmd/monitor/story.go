package main

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/render/words"
	"github.com/isowatch/isowatch/internal/whole"
)

// story tells of a demo which bug was planted when, when it was found, and under which name. It is
// a sink of all findings. Safe for concurrent use.
type story struct {
	say      func(format string, args ...any)
	text     io.Writer // for the first violation by each bug, with its proof; nil: none is written
	color    bool
	expect   string        // level
	patience time.Duration // after which what was planted is found
	began    time.Time

	mu         sync.Mutex
	bugs       []*planted // in the order in which they were planted
	byTxn      map[string]*planted
	found      map[string][]*told // by transaction
	unanswered map[string]bool    // transactions whose client got no answer to its COMMIT
	told       map[string]bool    // bugs that were shown, and their names that were explained
	first      *finding.Finding   // the one to explain at the end
}

// planted is a transaction that suffered a bug of the database. Times are since the demo began.
type planted struct {
	app.Planted
	at, found time.Duration
	as        *told // nil: not found yet
}

// told is the part of a finding that the table needs.
type told struct {
	title, anomaly, headline string
	alerted                  bool
	keys                     []string
	levels                   []string // that it violates, the weakest first
}

func newStory(say func(string, ...any), w *config.Watch) *story {
	return &story{
		say: say, expect: w.Expect.String(), patience: app.DemoPatience(w), began: time.Now(),
		byTxn: map[string]*planted{}, found: map[string][]*told{}, unanswered: map[string]bool{}, told: map[string]bool{},
	}
}

// Plant takes note of a transaction that suffered a bug, before it can be found.
func (s *story) Plant(b app.Planted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &planted{Planted: b, at: time.Since(s.began)}
	s.bugs, s.byTxn[b.Txn] = append(s.bugs, p), p
	s.say("%6.1f s  planted: %s. %s", p.at.Seconds(), b.Bug, did(&b))
}

// Unanswered takes note of a transaction whose client got no answer to its COMMIT.
func (s *story) Unanswered(txn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unanswered[txn] = true
}

// Name is "story".
func (s *story) Name() string { return "story" }

// Deliver tells which planted bugs the findings show. Those that are alerted come first: one bug can
// show in several findings.
func (s *story) Deliver(_ context.Context, findings []alert.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, first := range []bool{true, false} {
		for i := range findings {
			f := &findings[i].Finding
			if f.Kind != finding.KindViolation || f.State == finding.Withdrawn || isAlerted(f) != first {
				continue
			}
			s.first = worse(s.first, f)
			if err := s.match(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func isAlerted(f *finding.Finding) bool {
	verdict, _ := words.VerdictOf(f)
	return verdict == words.Violated
}

// match tells the planted bugs that a finding shows: not yet found, or found only in what is allowed.
func (s *story) match(f *finding.Finding) error {
	seen := toldOf(f)
	for _, id := range f.Txns {
		s.found[id] = append(s.found[id], seen)
		p := s.byTxn[id]
		if p == nil || p.as != nil && (p.as.alerted || !seen.alerted) {
			continue
		}
		p.as, p.found = seen, time.Since(s.began)
		if err := s.tell(p, f); err != nil {
			return err
		}
	}
	return nil
}

// tell says that a bug was found, and why it has another name if it has. It shows the first alerted
// finding of each kind of bug.
func (s *story) tell(p *planted, f *finding.Finding) error {
	as, allowed := "", ""
	if p.as.title != p.Bug {
		as = ", as " + p.as.name()
	}
	if !p.as.alerted {
		allowed = " " + s.expect + " allows it, so it is only counted."
	}
	s.say("%6.1f s  found:   %s of %s, %s later%s. Finding %s.%s", p.found.Seconds(), p.Bug, printable(p.Txn), ms(p.found-p.at), as, f.ID, allowed)
	if key := p.Bug + " " + p.as.anomaly; as != "" && !s.told[key] {
		s.told[key] = true
		s.say("                   Why that name: %s.", p.as.why())
	}
	if s.text == nil || !p.as.alerted || s.told[p.Bug] {
		return nil
	}
	s.told[p.Bug] = true
	if s.first != nil && s.first.ID == f.ID {
		f = whole.Bare(f) // it is explained at the end
	}
	_, err := s.text.Write(words.Append([]byte{'\n'}, f, s.color))
	return err
}

func toldOf(f *finding.Finding) *told {
	seen := &told{title: f.Title, anomaly: f.Anomaly, headline: f.Headline, alerted: isAlerted(f), levels: slices.Concat(f.Refutes, f.AlsoRefutes)}
	for _, e := range f.Edges {
		if !slices.Contains(seen.keys, e.Key) {
			seen.keys = append(seen.keys, e.Key)
		}
	}
	return seen
}
