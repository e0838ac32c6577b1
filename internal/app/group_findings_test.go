package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/isowatch/isowatch/internal/group"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
)

// electing is a store whose servers elect a leader: it does not answer at first.
type electing struct {
	groupstore.Store
	refuses int
}

func (s *electing) List(context.Context, string) ([]group.Value, error) {
	if s.refuses--; s.refuses >= 0 {
		return nil, errors.New("no leader")
	}
	return nil, nil
}

// Get has the settings: the group has members, and no units yet.
func (s *electing) Get(context.Context, string) (group.Value, error) { return group.Value{}, nil }

func TestFindingsWaitForALeader(t *testing.T) {
	t.Parallel()
	none := func([]byte) error { return nil }
	unread := func(unit string, err error) { t.Error(unit, err) }
	if err := GroupStored(t.Context(), &electing{refuses: 2}, Findings, none, unread); err != nil {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := GroupStored(ended, &electing{refuses: 2}, Findings, none, unread); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// damaged is a store with the record of one unit, whose state cannot be read.
type damaged struct {
	groupstore.Store
	asked int // for the state
}

func (s *damaged) List(_ context.Context, prefix string) ([]group.Value, error) {
	if prefix != "unit/" {
		return nil, nil
	}
	return []group.Value{{Key: "unit/nats=3AS", Data: []byte("u1 1 - -")}}, nil
}

func (s *damaged) Get(_ context.Context, key string) (group.Value, error) {
	if key != group.StateKey("nats:S") {
		return group.Value{}, group.ErrNotFound
	}
	s.asked++
	return group.Value{Key: key, Data: []byte("garbage")}, nil
}

// TestFindingsOfDamagedStates: a store that answers is not asked for long. A group may have a thousand units that are damaged.
func TestFindingsOfDamagedStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, failed := &damaged{}, 0
		err := GroupStored(t.Context(), s, Findings, func([]byte) error { return nil }, func(string, error) { failed++ })
		if err != nil || failed != 1 || s.asked != missingReads {
			t.Errorf("%v; %d units failed, and their states were asked for %d times, want %d", err, failed, s.asked, missingReads)
		}
	})
}
