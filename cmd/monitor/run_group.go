package main

import (
	"context"
	"errors"

	"github.com/isowatch/isowatch/internal/app"
)

// runInGroup runs a member of a group until ctx ends.
func (p *service) runInGroup(ctx context.Context, o app.Options) error {
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
	if at := g.HTTPAddr(); at != "" {
		p.say("listening http=%s", at)
	}
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	return errors.Join(g.Stop(stopping))
}
