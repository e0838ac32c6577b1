package app

import (
	"context"
	"errors"
	"testing"

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
