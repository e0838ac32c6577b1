package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// reconfiguration is asked for while steps are made.
type reconfiguration struct {
	configure func(source string) window.Config
	tell      bool
	done      chan error // has room for the one answer
}

// Reconfigure lets other configurations take effect with the next step of a running engine.
// [Options.Configure] does the same for the first step of a life. All take effect, or with
// [ErrSettings] no configuration changes. tell says that settings which cannot change are to be
// logged.
func (e *Engine) Reconfigure(ctx context.Context, configure func(source string) window.Config, tell bool) error {
	select {
	case e.asking <- struct{}{}:
		defer func() { <-e.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	x := &reconfiguration{configure, tell, make(chan error, 1)}
	e.asked.Store(x)
	select {
	case err := <-x.done:
		return err
	case <-ctx.Done():
		if e.asked.CompareAndSwap(x, nil) {
			return ctx.Err()
		}
		return <-x.done // it is just being looked at
	}
}

// reconsider is the step goroutine's part.
func (e *Engine) reconsider() {
	if x := e.asked.Swap(nil); x != nil {
		x.done <- e.reconfigure(x.configure, x.tell)
	}
}

// reconfigure finds the sources whose configuration has changed.
func (e *Engine) reconfigure(configure func(string) window.Config, tell bool) error {
	next := make([]*window.Config, len(e.sources.list))
	for i, x := range e.sources.list {
		asked := configure(x.name).WithDefaults()
		c, err := x.machine.Following(asked)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSettings, err)
		}
		if tell && (c.Contract != asked.Contract || c.Pane != asked.Pane) {
			e.log.Warn("some settings stay as the data folder began with them: a contract can only become weaker, and panes keep their length",
				"source", x.name, "contract", c.Contract.String(), "pane", c.Pane.String())
		}
		before := x.machine.Config()
		c.Memory = before.Memory // its share: see memory.go
		if begin, end := without(c.Levels, before.Levels), without(before.Levels, c.Levels); len(begin)+len(end) > 0 {
			e.log.Info("other levels are watched from the next step on", "source", x.name, "begin", isolation.LevelNames(begin), "end", isolation.LevelNames(end))
		}
		if !reflect.DeepEqual(c, before) {
			next[i] = &c
		}
	}
	for i, x := range e.sources.list {
		if next[i] == nil {
			continue
		}
		x.next = next[i]
		if before := x.machine.Config(); before.Expect != x.next.Expect || !slices.Equal(before.Levels, x.next.Levels) {
			e.opt.LevelsChanged(x.name, x.next)
		}
	}
	e.opt.Configure = configure
	return nil
}

// without returns the levels of a that are not in b.
func without(a, b []isolation.Level) []isolation.Level {
	return slices.DeleteFunc(slices.Clone(a), func(l isolation.Level) bool { return slices.Contains(b, l) })
}
