package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/window"
)

// reloadWait bounds how long a reload waits for the next step, which comes within a
// second.
const reloadWait = 20 * time.Second

var errNoStep = errors.New("nothing is checked: the disk is full, or slow")

// Reload lets another configuration take effect in a running service. It covers levels, windows, caps
// and contracts of sources, and the sinks with their secrets. A setting changes only if a start over
// the same folder would take it. Either all of them change or, with an error, no setting does. Reload
// logs the settings that only a new start can change, and leaves them.
func (a *App) Reload(ctx context.Context, next config.Service) error {
	_, err := a.takeUp(ctx, &next)
	return err
}

// takeUp is Reload that gives the keys of the settings that only a new start can change.
func (a *App) takeUp(ctx context.Context, next *config.Service) (waiting []string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, reloadWait, errNoStep)
	defer cancel()
	err = a.reload(ctx, next)
	a.reloaded.note(err == nil, a.now())
	if err != nil {
		a.log.Error("the new configuration is refused; the old one stays in effect", "err", err)
		return nil, err
	}
	return tellWaiting(a.log, a.config.Fixed(next)), nil
}

// tellWaiting logs that a configuration is in effect, except for settings that wait for a restart. It gives these.
func tellWaiting(log *slog.Logger, waiting []string) []string {
	if len(waiting) > 0 {
		log.Warn("the new configuration is in effect, except for settings that need a restart", "keys", strings.Join(waiting, ", "))
	} else {
		log.Info("the new configuration is in effect")
	}
	return waiting
}

// RefuseReload notes that the settings could not be read.
func (a *App) RefuseReload() { a.reloaded.note(false, a.now()) }

func (a *App) reload(ctx context.Context, next *config.Service) error {
	if err := next.Validate(); err != nil {
		return err
	}
	if !a.ready.Load() {
		return errors.New("the service is starting or stopping")
	}
	select {
	case a.reloading <- struct{}{}:
		defer func() { <-a.reloading }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	kept := *next // settings that need a new start stay as they are
	kept.Inputs, kept.SelfTest = a.current.Load().Inputs, a.config.SelfTest
	next = &kept
	guard := a.guarding()
	if next.HTTP == a.config.HTTP { // otherwise it needs a new start, and its secrets stay as they are
		read, err := a.readGuard()
		if err != nil {
			return err
		}
		guard = read
	}
	made, err := a.buildSinks(next.Sinks)
	if err != nil {
		return err
	}
	if err := a.reconfigure(ctx, next, true); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return errors.Join(err, closeSinks(made))
	}
	a.guard.Store(&guard)
	a.current.Store(next)
	return a.swapSinks(made)
}

// swapSinks replaces the sinks. Each new sink goes on at the cursor of the old one with its name. Two
// sinks must not move one cursor. So if the old one is still busy with a delivery, the new one gets
// nothing until the next reload or start.
func (a *App) swapSinks(made []madeSink) error {
	old, gone := a.dispatcher.Load(), a.made
	var hanging *alert.HangingError
	if err := old.Close(); err != nil && !errors.As(err, &hanging) {
		a.log.Warn("sinks", "err", err)
	}
	routes := a.routes(made)
	if hanging != nil {
		a.log.Error("sinks have not finished their last delivery: they get nothing until the next reload", "sinks", strings.Join(hanging.Sinks, ", "))
		routes = slices.DeleteFunc(routes, func(r alert.Route) bool { return slices.Contains(hanging.Sinks, r.Sink.Name()) })
	}
	if err := a.engine.SetSinks(names(a.routes(made))); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	a.made = made
	if err := closeSinks(gone); err != nil {
		a.log.Warn("sinks", "err", err)
	}
	return a.dispatch(routes)
}

// dispatch begins to deliver.
func (a *App) dispatch(routes []alert.Route) error {
	var outbox alert.Outbox = pausingOutbox{hidingOutbox{engine.Reader{Store: a.store}, a.hiding}, a.diskSpace}
	o := alert.Options{Log: a.log, Metrics: a.sinkMetrics}
	if u := a.options.unit; u != nil {
		outbox, routes, o.CloseTimeout = u.holding(outbox), u.gated(routes), unitCloseTimeout
	}
	d, err := alert.NewDispatcher(outbox, routes, o)
	if err != nil {
		return err
	}
	a.dispatcher.Store(d)
	d.Notify()
	return nil
}

// reconfigure lets the machines, also those made later, work with c and with the caps that memory
// leaves. a.reloading is held.
func (a *App) reconfigure(ctx context.Context, c *config.Service, tell bool) error {
	machine := a.machineOf(c)
	return a.engine.Reconfigure(ctx, func(source string) window.Config {
		return a.memory.lower(machine(source), a.memory.current())
	}, tell)
}

// watchOf is how a source is watched now.
func (a *App) watchOf(source string) *config.Watch { return a.current.Load().WatchOf(source) }
