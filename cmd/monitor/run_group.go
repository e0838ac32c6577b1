package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/isowatch/isowatch/internal/app"
)

// runInGroup runs a member of a group until ctx ends. started is called once it has begun: what is refused gets one line.
func (p *service) runInGroup(ctx context.Context, o app.Options, started func(), hangups <-chan os.Signal, log *slog.Logger) error {
	g, err := app.NewGroup(o)
	if err != nil {
		return usageError{err}
	}
	if err := g.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while it started
		}
		return err
	}
	started()
	if at := g.HTTPAddr(); at != "" {
		p.say("listening http=%s", at)
	}
	stopReloading := p.reloadAtHangup(ctx, hangups, g, log)
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-g.Failed():
	}
	stopReloading()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	return errors.Join(failed, g.Stop(stopping))
}
