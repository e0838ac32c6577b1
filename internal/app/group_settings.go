package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/group"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/whole"
)

// settingsKey is the record that says how the members watch.
const settingsKey = "settings/all"

// settingsOf is a hash of what decides findings.
func settingsOf(c *config.Service) (string, error) {
	units := c.Units()
	for _, k := range c.Partitioned() {
		for _, topic := range k.Topics {
			units = append(units, "partitions of "+topic)
		}
	}
	slices.Sort(units)
	all := map[string]any{"units": units, "lease": c.Group.Lease, "default": whole.MachineConfig(&c.Watch)}
	for _, name := range c.SourceNames() {
		all["source "+name] = whole.MachineConfig(c.WatchOf(name))
	}
	text, err := json.Marshal(all)
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:16]), err
}

// readableSettings says whether a record is such a hash.
func readableSettings(text []byte) bool {
	hash, err := hex.DecodeString(string(text))
	return err == nil && len(hash) == 16
}

// agree waits until all other members watch with the same settings. While a member with other settings
// lives, this one takes no unit.
func (g *Group) agree(ctx context.Context) error {
	mine, err := settingsOf(&g.config)
	if err != nil {
		return err
	}
	told := ""
	defer func() { g.odd.Store(false) }()
	for {
		v, err := g.store.Get(ctx, settingsKey)
		switch {
		case errors.Is(err, group.ErrNotFound):
			_, err = g.store.Create(ctx, settingsKey, []byte(mine))
		case err == nil && string(v.Data) == mine:
			if err := g.noteUnused(ctx); err != nil && ctx.Err() == nil {
				g.log.Warn("units of settings before cannot be noted: monitor group shows them as free", "err", err)
			}
			return nil
		case err == nil:
			var others bool
			if others, err = g.othersLive(ctx); err == nil && !others {
				if _, err = g.store.Update(ctx, settingsKey, []byte(mine), v.Version); err == nil {
					continue
				}
			}
		}
		if err == nil && readableSettings(v.Data) {
			differ := g.differs(ctx, "here")
			g.differ.Store(g.differs(ctx, "in "+g.id))
			g.odd.Store(true)
			g.tellAbout(ctx)
			if told != differ { // the others have said more
				told = differ
				g.log.Warn(
					"this member watches with other settings than those that live, and takes no unit while they do. Start it with theirs, or stop them first",
					"differ",
					differ,
				)
			}
		}
		if err != nil && !errors.Is(err, group.ErrConflict) && ctx.Err() == nil {
			g.log.Warn("the settings of the group's members cannot be read", "err", err)
		}
		select {
		case <-ctx.Done():
			g.withdrawAbout()
			return context.Cause(ctx)
		case <-time.After(g.config.Group.Lease / 6):
		}
	}
}

// unusedKey is the record of units of settings before. Nobody watches them, and their findings stay.
const unusedKey = "settings/unused"

// noteUnused writes which units of the store the settings do not have.
func (g *Group) noteUnused(ctx context.Context) error {
	all, err := g.store.List(ctx, group.UnitKey(""))
	if err != nil {
		return err
	}
	names := []string{}
	for _, v := range all {
		if name := group.UnitOf(v.Key); !g.hasUnit(name) {
			names = append(names, name)
		}
	}
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	switch v, has := g.store.Get(ctx, unusedKey); {
	case errors.Is(has, group.ErrNotFound) && len(names) > 0:
		_, err = g.store.Create(ctx, unusedKey, text)
	case has == nil && !bytes.Equal(v.Data, text):
		_, err = g.store.Update(ctx, unusedKey, text, v.Version)
	case has != nil && !errors.Is(has, group.ErrNotFound):
		err = has
	}
	if len(names) > 0 {
		g.log.Info("units of settings before are left alone: their findings stay", "units", strings.Join(names, ", "))
	}
	if errors.Is(err, group.ErrConflict) { // another member was faster, and has noted the same
		return nil
	}
	return err
}

// unusedUnits are the units of settings before.
func unusedUnits(ctx context.Context, s groupstore.Store) (map[string]bool, error) {
	v, err := s.Get(ctx, unusedKey)
	if errors.Is(err, group.ErrNotFound) {
		return nil, nil
	}
	var names []string
	if err == nil && json.Unmarshal(v.Data, &names) != nil { // it is damaged, and a member writes it again
		names = nil
	}
	unused := map[string]bool{}
	for _, name := range names {
		unused[name] = true
	}
	return unused, err
}

// agrees says whether the unit may be watched: the members still watch as this one does. While this one stood still or was cut off, others
// may have begun with other settings. Then it ends, and its next life waits until they are gone. It asks once in a life of the member.
func (g *Group) agrees(u *unit) bool {
	g.agreeing.Lock()
	if g.askedIn != u.life {
		same, known := g.compareSettings(u)
		if known {
			g.askedIn, g.agreed = u.life, same
		}
	}
	agreed := g.askedIn == u.life && g.agreed
	g.agreeing.Unlock()
	if !agreed {
		<-u.stopping
	}
	return agreed
}

// compareSettings compares the settings of this member with those that the members have now. A read may be old, so what differs is read twice.
func (g *Group) compareSettings(u *unit) (same, known bool) {
	mine, err := settingsOf(&g.config)
	for differ := 0; err == nil && differ < 2; u.pause(rereadAfter) {
		if u.ends() {
			return false, false
		}
		ctx, cancel := context.WithTimeout(context.Background(), g.config.Group.Lease)
		v, read := g.store.Get(ctx, settingsKey)
		cancel()
		switch {
		case errors.Is(read, group.ErrNotFound), read == nil && (string(v.Data) == mine || !readableSettings(v.Data)):
			return true, true
		case read != nil:
			u.log.Warn("the settings of the group's members cannot be read, and the unit waits", "err", read)
		default:
			differ++
		}
	}
	if err == nil {
		err = fmt.Errorf("%w: members with other settings have begun while this one was away: start it with theirs", ErrConfig)
	}
	select {
	case g.failed <- err:
	default:
	}
	return false, true
}

// Failed gives why this member cannot go on.
func (g *Group) Failed() <-chan error { return g.failed }

// othersLive says whether another member's lease is not over. A lease is over only after this member
// has seen for its whole length that nobody renewed it.
// It looks as long if there is no lease: a member that has begun already, with other settings, may be about to make one.
func (g *Group) othersLive(ctx context.Context) (bool, error) {
	versions := map[string]group.Version{}
	for begin := time.Now(); ; {
		all, err := g.store.List(ctx, "member/")
		if err != nil {
			return false, err
		}
		for _, v := range all {
			if _, live := group.MemberOf(v); !live {
				continue
			}
			if was, ok := versions[v.Key]; ok && was != v.Version {
				return true, nil
			}
			versions[v.Key] = v.Version
		}
		if time.Since(begin) > g.config.Group.Lease {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(g.config.Group.Lease / 6):
		}
	}
}

// differs says in which settings this member and another one differ, which takes units: "lease: 2s here, 6s in m1".
func (g *Group) differs(ctx context.Context, here string) string {
	told, err := g.told(ctx)
	if err != nil {
		return "not known: the group's store cannot be read: " + err.Error()
	}
	mine := g.config.Shared()
	for _, id := range slices.Sorted(maps.Keys(told)) {
		if x := told[id]; !x.Odd && id != g.id && len(x.Settings) > 0 {
			if text := differences(mine, x.Settings, here, "in "+id); text != "" {
				return text
			}
		}
	}
	return "levels, windows or inputs: no other member has said more so far"
}

// differences of two members' settings, by the names of settings.
func differences(mine, others map[string]string, here, there string) string {
	const most = 100 // bytes of a value
	short := func(text string) string {
		if len(text) > most {
			text = strings.ToValidUTF8(text[:most], "") + " and so on"
		}
		return cmp.Or(text, "not set")
	}
	names := maps.Clone(mine)
	maps.Copy(names, others)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if mine[name] != others[name] {
			all = append(all, fmt.Sprintf("%s: %s %s, %s %s", name, short(mine[name]), here, short(others[name]), there))
		}
	}
	return strings.Join(all, "; ")
}
