package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/web"
)

var errOtherGroup = errors.New("the members of a group watch with the same levels, windows and inputs: stop all of them, and start them with the new ones")

// ReloadFile reads the settings again, and lets them take effect in all units that this member has, and gets. It takes
// what decides no finding: sinks, secrets and retention. It gives the keys of settings that wait for a restart of the
// member, and logs how that went.
func (g *Group) ReloadFile(ctx context.Context) (waiting []string, err error) {
	if g.options.Reread == nil {
		return nil, web.ErrNoFile
	}
	g.rereading.Lock()
	defer g.rereading.Unlock()
	next, err := g.options.Reread()
	if err == nil {
		err = g.reload(ctx, &next)
	}
	g.frame.reloaded.note(err == nil, g.options.Now().UnixNano())
	if err != nil {
		g.log.Error("the new configuration is refused; the old one stays in effect", "err", err)
		return nil, err
	}
	return tellWaiting(g.log, g.config.Fixed(&next)), nil
}

func (g *Group) reload(ctx context.Context, next *config.Service) error {
	if err := next.Validate(); err != nil {
		return err
	}
	before := g.current.Load()
	was, err := settingsOf(before)
	if err != nil {
		return err
	}
	if now, err := settingsOf(next); err != nil || now != was || next.Group.Name != before.Group.Name || next.Group.State != before.Group.State {
		return errors.Join(err, errOtherGroup)
	}
	guard := g.frame.guard.Load()                   // nil: there are no pages
	if guard != nil && next.HTTP == g.config.HTTP { // else it needs a new start, and its secrets stay too
		read, err := g.frame.readGuard()
		if err != nil {
			return err
		}
		guard = &read
	}
	g.current.Store(next) // units that start from now on have it
	running := g.running()
	for i, u := range running {
		err := u.reload(ctx, next)
		if err == nil {
			continue
		}
		g.current.Store(before)
		for _, took := range running[:i] {
			if err := took.reload(ctx, before); err != nil {
				took.log.Error("the old configuration is not in effect again: stop this member, and start it", "err", err)
			}
		}
		return fmt.Errorf("unit %s: %w", u.name, err)
	}
	g.frame.guard.Store(guard)
	return nil
}

// reload lets other settings take effect in the unit, if it runs.
func (u *unit) reload(ctx context.Context, next *config.Service) error {
	u.mu.Lock()
	a := u.app
	u.mu.Unlock()
	if a == nil {
		return nil
	}
	if err := a.Reload(ctx, *u.settings(next)); err != nil && !u.ends() {
		return err
	}
	return nil
}

// settings of the unit; nil: there is no such unit.
func (u *unit) settings(of *config.Service) *config.Service {
	s := of.OfUnit(u.name)
	if s != nil {
		s.Data, s.HTTP = u.dir, config.HTTP{Address: config.Off, ExternalURL: of.HTTP.ExternalURL, TraceURL: of.HTTP.TraceURL}
	}
	return s
}
