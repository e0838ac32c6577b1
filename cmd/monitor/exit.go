package main

import (
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/window"
)

// Exit codes, for scripts.
const (
	exitOK          = 0   // all asked levels hold
	exitViolated    = 1   // one is violated; validate: a record is invalid
	exitUnknown     = 2   // none is violated, one is unknown
	exitInterrupted = 130 // a signal came before the answer was there
	exitUsage       = 254 // wrong usage, configuration or unreadable input
	exitInternal    = 255
)

// usageError is a mistake of the caller.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError ends the command with a code that is no failure.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// codeOf is the exit code that tells err, and whether it is to be printed.
func codeOf(err error) (code int, tell bool) {
	var exit exitError
	var usage usageError
	switch {
	case err == nil:
		return exitOK, false
	case errors.As(err, &exit):
		return exit.code, false
	case errors.As(err, &usage), errors.Is(err, app.ErrInput), errors.Is(err, app.ErrConfig):
		return exitUsage, true
	}
	return exitInternal, true
}

// exitWith is nil for the verdict "ok".
func exitWith(verdict string) error {
	switch verdict {
	case window.Violated:
		return exitError{exitViolated}
	case window.Unknown:
		return exitError{exitUnknown}
	}
	return nil
}
