package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/group"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/window"
)

// sourcePrefix is before the keys of records that say in which units a source was met.
const sourcePrefix = "source/"

// metSource is such a record. All records of a source belong into one unit.
type metSource struct {
	Source string   `json:"source"`
	Units  []string `json:"units"` // in the order in which they met it
}

// metIn reads in which of these units sources were met. A record may also name units of earlier settings. One that cannot be read
// names none: the next unit that meets the source writes it again.
func metIn(all []group.Value, isUnit func(name string) bool) (met map[string]metSource) {
	met = map[string]metSource{}
	for _, v := range all {
		var x metSource
		if json.Unmarshal(v.Data, &x) != nil {
			continue
		}
		x.Units = slices.DeleteFunc(x.Units, func(u string) bool { return !isUnit(u) })
		met[v.Key] = x
	}
	return met
}

// hasUnit says whether this member's settings have the unit. That takes time proportional to the number
// of units.
func (g *Group) hasUnit(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	has, known := g.isUnit[name]
	if !known {
		has = g.config.OfUnit(name) != nil
		g.isUnit[name] = has
	}
	return has
}

// followSources notes in which units each source is met, and tells of those that are met in two. It looks twice in a lease.
func (g *Group) followSources(ctx context.Context) {
	told := false
	for {
		err := errors.Join(g.lookAtSources(ctx), g.help(ctx))
		if err != nil && ctx.Err() == nil && !told {
			g.log.Warn(
				"the notes of the group cannot be read now: which units have met a source, and which states nobody can read. This member looks again twice in a lease",
				"err",
				err,
			)
		}
		told = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(g.config.Group.Lease / 2):
		}
	}
}

func (g *Group) lookAtSources(ctx context.Context) error {
	all, err := g.store.List(ctx, sourcePrefix)
	if err != nil {
		return err
	}
	met := metIn(all, g.hasUnit)
	versions := map[string]group.Version{}
	split := 0
	for _, v := range all {
		versions[v.Key] = v.Version
		if len(met[v.Key].Units) > 1 {
			split++
		}
	}
	g.mu.Lock()
	g.split = split
	g.mu.Unlock()
	var errs []error
	for _, u := range g.running() {
		u.mu.Lock()
		a := u.app
		u.mu.Unlock()
		if a == nil {
			continue
		}
		for _, x := range a.Status().Sources {
			if transactions(&x.Counters) == 0 {
				continue
			}
			key := sourcePrefix + unitID(x.Source)
			errs = append(errs, g.meet(ctx, u, key, x.Source, met[key], versions[key]))
			if m := met[key]; len(m.Units) > 1 && slices.Contains(m.Units, u.name) {
				errs = append(errs, g.tellSplit(ctx, u, a, m, x.Counters.Gaps == 0))
			}
		}
	}
	return errors.Join(errs...)
}

// meet notes that the unit has met the source. A conflict is seen at the next look.
func (g *Group) meet(ctx context.Context, u *unit, key, source string, m metSource, version group.Version) error {
	if slices.Contains(m.Units, u.name) {
		return nil
	}
	text, err := json.Marshal(metSource{source, append(slices.Clone(m.Units), u.name)})
	if err != nil {
		return err
	}
	if version == "" {
		_, err = g.store.Create(ctx, key, text)
	} else {
		_, err = g.store.Update(ctx, key, text, version)
	}
	if errors.Is(err, group.ErrConflict) {
		return nil
	}
	return err
}

// tellSplit has the unit take in that other units have records of the source. fresh: it knows of no lost input so far. Else the findings
// of the unit tell whether an owner before has told it.
func (g *Group) tellSplit(ctx context.Context, u *unit, a *App, m metSource, fresh bool) error {
	others := strings.Join(slices.DeleteFunc(slices.Clone(m.Units), func(name string) bool { return name == u.name }), ", ")
	if !u.told[m.Source] {
		if !fresh {
			told, err := a.toldSplit(m.Source, others)
			if err != nil {
				return err
			}
			fresh = !told
		}
		u.told[m.Source] = true
		u.log.Error("a source is in two units of the group: its levels are unknown. Give it one stream, subject or topic", "source", m.Source, "other", others)
	}
	if !fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.config.Group.Lease) // the unit may be ending
	defer cancel()
	return a.engine.Lose(ctx, m.Source, window.Gap{
		Partition: others, Reason: fmt.Sprintf(splitReason+", %s and %s: give it one stream, subject or topic", u.name, others),
	})
}

// splitReason is in the explanation of a finding about such a source.
const splitReason = "the source is in two units of the group"

// toldSplit says whether a finding names these units as others of the source.
func (a *App) toldSplit(source, others string) (told bool, err error) {
	enough := errors.New("it is found")
	err = engine.Reader{Store: a.store}.Each(func(f *finding.Finding) error {
		if f.Source == source && f.Kind == finding.KindGap && strings.Contains(f.Explanation, splitReason) && strings.Contains(f.Explanation, others) {
			told = true
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return told, err
}

// splitSources are the units of a group's sources that are met in two of them, by source.
func splitSources(ctx context.Context, s groupstore.Store) (map[string][]string, error) {
	units, err := s.List(ctx, "unit/")
	if err != nil {
		return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	unused, err := unusedUnits(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	var names []string
	for _, v := range units {
		if name := group.UnitOf(v.Key); !unused[name] {
			names = append(names, name)
		}
	}
	all, err := s.List(ctx, sourcePrefix)
	if err != nil {
		return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	met := metIn(all, func(name string) bool { return slices.Contains(names, name) })
	split := map[string][]string{}
	for _, x := range met {
		if len(x.Units) > 1 {
			split[x.Source] = x.Units
		}
	}
	return split, nil
}
