package engine

import (
	"context"

	"github.com/isowatch/isowatch/window"
)

// Lose tells the source that records of it are read elsewhere: they are lost to it. Its levels are unknown from the next step
// on, and nothing of it rests on the absence of a record. A source that is not known stays as it is. It returns when the
// next step has it, or ctx ends.
func (e *Engine) Lose(ctx context.Context, source string, g window.Gap) error {
	select {
	case e.losing <- faultEntry{source, faultApart, g}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
