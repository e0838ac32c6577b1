package probe_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

var errInjected = errors.New("injected")

// faulty is a database of which every so many calls fail, each for its own reason.
type faulty struct {
	probe.Database
	begin, do, commit, rollback, open int // the n-th call fails, and each n further; 0: none

	mu           sync.Mutex
	calls        map[string]int
	opened, shut int
}

func (f *faulty) fails(what string, every int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[what]++
	return every > 0 && f.calls[what]%every == 0
}

func (f *faulty) Open(ctx context.Context) (probe.Session, error) {
	if f.fails("open", f.open) {
		return nil, errInjected
	}
	s, err := f.Database.Open(ctx)
	f.mu.Lock()
	f.opened++
	f.mu.Unlock()
	return &faultySession{s, f}, err
}

type faultySession struct {
	probe.Session
	f *faulty
}

func (s *faultySession) Begin(ctx context.Context) error {
	if s.f.fails("begin", s.f.begin) {
		return errInjected
	}
	return s.Session.Begin(ctx)
}

func (s *faultySession) Do(ctx context.Context, op *probe.Op) error {
	if s.f.fails("do", s.f.do) {
		return errInjected
	}
	return s.Session.Do(ctx, op)
}

// Commit commits, and loses the answer.
func (s *faultySession) Commit(ctx context.Context) (event.Status, error) {
	status, err := s.Session.Commit(ctx)
	if err == nil && s.f.fails("commit", s.f.commit) {
		return event.Unknown, errInjected
	}
	return status, err
}

func (s *faultySession) Rollback(ctx context.Context) error {
	if s.f.fails("rollback", s.f.rollback) {
		return errors.Join(errInjected, s.Session.Rollback(ctx))
	}
	return s.Session.Rollback(ctx)
}

func (s *faultySession) Close() error {
	s.f.mu.Lock()
	s.f.shut++
	s.f.mu.Unlock()
	return s.Session.Close()
}

// Whatever fails: the run goes on with new connections, closes all of them, and what
// it records agrees with what the database did.
func TestFailures(t *testing.T) {
	w, err := probe.ByName("blind") // gives nothing up
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*faulty{
		"begin":    {begin: 7},
		"do":       {do: 7},
		"commit":   {commit: 7},
		"rollback": {do: 9, rollback: 2},
		"open":     {begin: 7, open: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f.Database, f.calls = openFile(t), map[string]int{}
			now, sleep := ticking()
			records := run(t, f, w, probe.Options{Sessions: 1, Keys: 6, Seed: 7, Now: now, Sleep: sleep}, 200)
			count := map[event.Status]int{}
			m := newModel()
			for i := range records {
				r := records[i]
				count[r.Status]++
				if r.Status == event.Unknown {
					r.Status = event.Committed // here only the answer was lost
				}
				if why := m.run(&r); why != "" {
					t.Fatal(why)
				}
			}
			if f.opened != f.shut {
				t.Errorf("%d sessions opened, %d closed", f.opened, f.shut)
			}
			if got := count[event.Unknown] > 0; got != (f.commit > 0) {
				t.Errorf("outcomes %v", count)
			}
			if got := count[event.Aborted] > 0; got != (f.do > 0) {
				t.Errorf("outcomes %v", count)
			}
			// One session fills the tables and one runs. Each session that cannot be used any more
			// is replaced when the next transaction begins. Behind the last transaction there is no next one.
			dropped := count[event.Unknown]
			if f.begin > 0 {
				dropped += f.calls["begin"] / f.begin
			}
			if f.rollback > 0 {
				dropped += f.calls["rollback"] / f.rollback
			}
			if f.opened < 1+dropped || f.opened > 2+dropped || dropped == 0 && f.do == 0 {
				t.Errorf("%d sessions were opened, %d dropped", f.opened, dropped)
			}
		})
	}
}

// A run that cannot begin says so and leaves no session open.
func TestCannotBegin(t *testing.T) {
	w, err := probe.ByName("mix")
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{Database: openFile(t), calls: map[string]int{}, open: 4}
	if _, err := probe.Fill(t.Context(), f, w, probe.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := probe.Run(t.Context(), f, w, probe.Options{}, nil); !errors.Is(err, errInjected) || f.opened != f.shut {
		t.Errorf("error %v; %d sessions opened, %d closed", err, f.opened, f.shut)
	}
	f = &faulty{Database: openFile(t), calls: map[string]int{}, do: 3}
	if _, err := probe.Fill(t.Context(), f, w, probe.Options{}); !errors.Is(err, errInjected) || f.opened != f.shut {
		t.Errorf("error %v; %d sessions opened, %d closed", err, f.opened, f.shut)
	}
}
