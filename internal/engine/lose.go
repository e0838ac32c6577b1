package engine

import (
	"context"

	"github.com/isowatch/isowatch/window"
)

// Lose tells the source that some of its records are read elsewhere, and are lost here. Its levels are
// unknown from the next step on, and its findings do not rest on the absence of a record. A source that
// is not known stays as it is. It returns when the next step has taken it in, or ctx ends.
func (e *Engine) Lose(ctx context.Context, source string, g window.Gap) error {
	select {
	case e.losing <- faultEntry{source, faultApart, g}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
