package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// cleanups hold the undoing of each step of a start, in the order of the steps.
type cleanups []cleanup

type cleanup struct {
	name string
	do   func(context.Context) error
}

func (c *cleanups) push(name string, do func(context.Context) error) {
	*c = append(*c, cleanup{name, do})
}

// run undoes all, the last first, and empties c. A cleanup that does not end within ctx ends the run.
// The cleanups before it are not run, since their parts still carry it.
func (c *cleanups) run(ctx context.Context) error {
	var faults []error
	list := slices.Clone(*c)
	*c = nil
	for _, x := range slices.Backward(list) {
		done := make(chan error, 1)
		go func() { done <- x.do(ctx) }()
		select {
		case err := <-done:
			if err != nil {
				faults = append(faults, fmt.Errorf("stop %s: %w", x.name, err))
			}
		case <-ctx.Done():
			select {
			case err := <-done: // it ended just then
				if err != nil {
					faults = append(faults, fmt.Errorf("stop %s: %w", x.name, err))
				}
			default:
				return errors.Join(append(faults, fmt.Errorf("stop %s: %w", x.name, context.Cause(ctx)))...)
			}
		}
	}
	return errors.Join(faults...)
}
