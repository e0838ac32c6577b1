package app

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/group"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
)

// A record in the store of a group may be damaged: somebody writes there. Nothing ends for that. A reader takes it for a record
// that is not there, and the next writer replaces it.

// readsAs says whether a record is JSON of a type.
func readsAs[T any](data []byte) bool {
	var x T
	return json.Unmarshal(data, &x) == nil
}

// notes say whether a record can be read, for each kind that internal/group does not have.
var notes = map[string]func(v *group.Value) bool{
	aboutPrefix:  func(v *group.Value) bool { return readsAs[aboutMember](v.Data) },
	helpPrefix:   func(v *group.Value) bool { return readsAs[helpWanted](v.Data) },
	placePrefix:  func(v *group.Value) bool { return readsAs[placed](v.Data) },
	sourcePrefix: func(v *group.Value) bool { return readsAs[metSource](v.Data) },
	"settings/": func(v *group.Value) bool {
		return v.Key == settingsKey && readableSettings(v.Data) || v.Key != settingsKey && readsAs[[]string](v.Data)
	},
}

// damagedNotes are the keys of notes that cannot be read.
func damagedNotes(ctx context.Context, s groupstore.Store) (damaged []string, err error) {
	for prefix, readable := range notes {
		all, err := s.List(ctx, prefix)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if !readable(&all[i]) {
				damaged = append(damaged, all[i].Key)
			}
		}
	}
	slices.Sort(damaged)
	return damaged, nil
}

// withPlaces adds units with a noted place that have lost their record.
func withPlaces(ctx context.Context, s groupstore.Store, units []group.Value) ([]group.Value, error) {
	all, err := s.List(ctx, placePrefix)
	if err != nil {
		return nil, err
	}
	units = slices.Clone(units)
	for _, v := range all {
		var x placed
		if json.Unmarshal(v.Data, &x) != nil || x.Unit == "" {
			continue
		}
		key := group.UnitKey(x.Unit)
		if !slices.ContainsFunc(units, func(u group.Value) bool { return u.Key == key }) {
			units = append(units, group.Value{Key: key})
		}
	}
	slices.SortStableFunc(units, func(a, b group.Value) int { return cmp.Compare(a.Key, b.Key) })
	return units, nil
}

// mendNotes logs each note once that cannot be read, and mends those that nobody would write again soon. told are keys that were logged.
func (g *Group) mendNotes(ctx context.Context, told map[string]bool) {
	ctx, cancel := context.WithTimeout(ctx, g.config.Group.Lease)
	defer cancel()
	damaged, err := damagedNotes(ctx, g.store)
	if err != nil {
		return // the next look tries again
	}
	for key := range told {
		if !slices.Contains(damaged, key) {
			delete(told, key)
		}
	}
	for _, key := range damaged {
		if !told[key] {
			told[key] = true
			g.tellUnreadable(key)
		}
		v, err := g.store.Get(ctx, key)
		switch {
		case err != nil:
		case key == settingsKey && !readableSettings(v.Data):
			if mine, err := settingsOf(&g.config); err == nil {
				_, _ = g.store.Update(ctx, key, []byte(mine), v.Version) // without a success the next look tries again
			}
		case key == unusedKey:
			_ = g.noteUnused(ctx) // as above
		case strings.HasPrefix(key, aboutPrefix) && key != g.aboutKey() && !readsAs[aboutMember](v.Data):
			_ = g.store.Delete(ctx, key, v.Version) // a member that lives writes its own again
		}
	}
}

func (g *Group) tellUnreadable(key string) {
	g.log.Error("a record in the group's store cannot be read: a member writes it again. Look who writes there", "record", key)
}
