package app

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
)

// told is a story that takes notes.
type told struct {
	mu         sync.Mutex
	planted    []Planted
	unanswered map[string]bool
}

func (s *told) Plant(p Planted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planted = append(s.planted, p)
}

func (s *told) Unanswered(txn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unanswered[txn] = true
}

// demoHistory returns what the demo's clients publish in the time, which is not real.
func demoHistory(t *testing.T, length time.Duration, seed uint64) (story *told, history string) {
	t.Helper()
	story = &told{unanswered: map[string]bool{}}
	var records []byte
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		d, cfg := demo{story: story, store: workload.NewStore(firstBugs())}, demoClients()
		cfg.Seed = seed
		enough := time.AfterFunc(length*9/10, d.calm)
		defer enough.Stop()
		var mu sync.Mutex
		err := workload.RunClients(ctx, d.store, cfg, func(x workload.Txn) error {
			d.tell(&x)
			mu.Lock()
			defer mu.Unlock()
			records = append(workload.AppendJSON(records, &x), '\n')
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	return story, string(records)
}

// TestDemoPlantsWhatShows: each bug that the demo plants is found, but where a client got no answer, or
// read old data and had met nothing newer. Only stale reads keep serializability, and none comes first.
func TestDemoPlantsWhatShows(t *testing.T) {
	t.Parallel()
	planted, silent := map[string]int{}, map[string]int{}
	for seed := range testrun.Size(2, 5) {
		story, history := demoHistory(t, time.Minute, uint64(seed))
		if first := story.planted[0]; first.Bug == "stale read" {
			t.Errorf("seed %d: the first bug is a stale read", seed)
		}
		findings := checkText(t, history).Findings
		for _, p := range story.planted {
			planted[p.Bug]++
			shows := func(f finding.Finding) bool { return shows(&f, &p) }
			switch i := slices.IndexFunc(findings, shows); {
			case i >= 0 && findings[i].Expected == (p.Bug == "stale read"):
			case i >= 0 && p.Bug == "stale read": // it met another bug as well
			case i >= 0:
				t.Errorf("seed %d: %+v is allowed, as %s", seed, p, findings[i].Title)
			case p.Bug == "stale read" || story.unanswered[p.Txn] || story.unanswered[p.Other]:
				silent[p.Bug]++
			default:
				t.Errorf("seed %d: %+v is not found", seed, p)
			}
		}
	}
	for _, bug := range []string{"lost update", "write skew", "dirty read", "stale read"} {
		if planted[bug] < testrun.Size(8, 20) || silent[bug]*10 > planted[bug] {
			t.Errorf("%s: planted %d times, and not to be seen %d times", bug, planted[bug], silent[bug])
		}
	}
}

// shows says whether the finding is about the planted bug, or about another one that shares a
// transaction and a key with it.
func shows(f *finding.Finding, p *Planted) bool {
	return slices.Contains(f.Txns, p.Txn) ||
		slices.Contains(f.Txns, p.Other) && slices.ContainsFunc(f.Edges, func(e finding.Edge) bool { return e.Key == p.Key })
}
