package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/keep"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/store"
)

// GroupUnit is how a unit of a group stands.
type GroupUnit struct {
	Unit  string `json:"unit"`
	Owner string `json:"owner,omitempty"`
	Term  uint64 `json:"term"`
	State string `json:"state"` // owned, moving, free
	// Split are sources that are met in another unit too.
	Split []string `json:"split_sources,omitempty"`
}

// Standings of units.
const (
	UnitOwned  = "owned"
	UnitMoving = "moving" // its owner does not renew its lease, or has released it
	UnitFree   = "free"   // it has had no owner for longer than a lease
)

// OpenGroup opens the store of a group for reading.
func OpenGroup(ctx context.Context, state, name string) (groupstore.Store, error) {
	if fault := config.CheckGroupState(state); fault != "" {
		return nil, fmt.Errorf("%w: %s", ErrConfig, fault)
	}
	if u, err := url.Parse(state); err == nil && u.Scheme == "file" { // to open it makes it
		if _, err := os.Stat(filepath.FromSlash(u.Path)); err != nil {
			return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	s, err := OpenGroupStore(ctx, state, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	return groupstore.Named(s, name), nil
}

// ReadGroup tells how the units of a group stand. It looks for as long as a lease: an owner that does not renew its lease
// meanwhile does not count as one.
func ReadGroup(ctx context.Context, s groupstore.Store, lease time.Duration) ([]GroupUnit, error) {
	renewed := map[string]bool{} // by the key of the lease
	versions := map[string]group.Version{}
	had := map[string]bool{} // units that had a living owner at some time
	var all []GroupUnit
	for begin := time.Now(); ; {
		members, err := s.List(ctx, "member/")
		if err != nil {
			return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
		}
		for _, v := range members {
			if _, live := group.MemberOf(v); live {
				if was, ok := versions[v.Key]; ok && was != v.Version {
					renewed[v.Key] = true
				}
				versions[v.Key] = v.Version
			} else {
				delete(renewed, v.Key)
			}
		}
		units, err := s.List(ctx, "unit/")
		if err != nil {
			return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
		}
		all = all[:0]
		owned := 0
		for _, v := range units {
			owner, term, err := group.OwnerOf(v)
			if err != nil {
				return nil, fmt.Errorf("%w: group state: %s: %w", ErrConfig, v.Key, err)
			}
			u := GroupUnit{Unit: group.UnitOf(v.Key), Term: term, State: UnitMoving}
			if owner != "" && renewed["member/"+owner] {
				u.Owner, u.State, had[u.Unit] = group.IDOf(owner), UnitOwned, true
				owned++
			}
			all = append(all, u)
		}
		over := time.Since(begin) > lease
		if over || owned == len(all) && len(all) > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lease / 10):
		}
	}
	for i := range all {
		if all[i].State == UnitMoving && !had[all[i].Unit] {
			all[i].State = UnitFree
		}
	}
	return all, nil
}

// GroupFindings gives all findings of a group as JSON, each once, in the order of units and of ids in them.
func GroupFindings(ctx context.Context, s groupstore.Store, fn func(record []byte) error) error {
	units, err := s.List(ctx, "unit/")
	if err != nil {
		return fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	seen := map[string]bool{}
	for _, v := range units {
		found, err := unitFindings(ctx, s, group.UnitOf(v.Key))
		if err != nil {
			return fmt.Errorf("%w: group state: unit %s: %w", ErrStore, group.UnitOf(v.Key), err)
		}
		for _, text := range found {
			var f struct{ ID, Source string }
			if err := json.Unmarshal(text, &f); err != nil {
				return err
			}
			if seen[f.Source+"\x00"+f.ID] {
				continue
			}
			seen[f.Source+"\x00"+f.ID] = true
			if err := fn(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// unitFindings reads the state of a unit. The owner may replace it meanwhile.
func unitFindings(ctx context.Context, s groupstore.Store, unit string) (all [][]byte, err error) {
	const tries = 5
	for range tries {
		var v group.Value
		v, err = s.Get(ctx, group.StateKey(unit))
		if errors.Is(err, group.ErrNotFound) {
			return nil, nil // it was never watched
		} else if err != nil {
			return nil, err
		}
		var data []byte
		if data, err = group.StateOf(v); err != nil {
			return nil, err
		}
		texts := map[string][]byte{}
		err = keep.Read(ctx, s, data, func(e store.Entry) error {
			if id, text, ok := engine.Finding(&e); ok {
				if texts[id] = bytes.Clone(text); e.Delete {
					delete(texts, id)
				}
			}
			return nil
		})
		if err == nil {
			for _, text := range texts {
				all = append(all, text)
			}
			slices.SortFunc(all, func(a, b []byte) int { return cmp.Compare(foundOf(a), foundOf(b)) })
			return all, nil
		}
		if !errors.Is(err, group.ErrNotFound) {
			return nil, err
		}
	}
	return nil, err
}

// foundOf is a key that orders findings by the time when they were found, and by their ids.
func foundOf(text []byte) string {
	var f struct {
		At string `json:"detected_at"`
		ID string
	}
	_ = json.Unmarshal(text, &f) // it is a finding
	return strings.TrimSuffix(f.At, "Z") + " " + f.ID
}
