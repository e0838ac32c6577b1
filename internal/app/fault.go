package app

import (
	"fmt"

	"github.com/isowatch/isowatch/internal/engine"
)

// Hook is for tests.
type Hook = engine.Hook

// Reproduction is the content of a file that reproduces a fault, and the result of doing it again.
type Reproduction struct {
	Source, Position string
	Was              string // the fault, when the file was written
	Again            string // the fault that comes now, "" if none does
}

// ReproduceFault does again what the file holds.
func ReproduceFault(path string) (Reproduction, error) {
	head, again, err := engine.Reproduce(path, nil)
	if err != nil {
		return Reproduction{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	return Reproduction{head.Source, head.Position, head.Fault, again}, nil
}
