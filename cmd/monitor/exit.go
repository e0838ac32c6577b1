package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/window"
)

// Exit codes, for scripts.
const (
	exitOK          = 0   // all asked levels hold
	exitViolated    = 1   // one is violated; validate: a record is invalid
	exitUnknown     = 2   // none is violated, one is unknown
	exitInterrupted = 130 // a signal came before the answer was there
	exitUsage       = 254 // yours to mend: usage, configuration, an input, a disk, a network
	exitInternal    = 255 // ours to mend
)

// usageError is a mistake of the caller.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError ends the command with a code for an answer, not for a failure.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// codeOf is the exit code that tells err, and whether it is to be printed.
func codeOf(err error) (code int, tell bool) {
	var exit exitError
	var usage usageError
	var crash crashError
	if errors.As(err, &crash) {
		return exitInternal, true
	}
	if errors.As(err, &exit) {
		if err = besides(err); err == nil {
			return exit.code, false
		}
	}
	switch {
	case err == nil:
		return exitOK, false
	case errors.As(err, &usage), errors.Is(err, app.ErrInput), errors.Is(err, app.ErrConfig), errors.Is(err, app.ErrStore), ofMachine(err):
		return exitUsage, true
	}
	return exitInternal, true
}

// besides is an error beside an answer that has an exit code: the answer is not all there
// then.
func besides(err error) error {
	switch x := err.(type) {
	case exitError:
		return nil
	case interface{ Unwrap() []error }:
		var rest []error
		for _, e := range x.Unwrap() {
			rest = append(rest, besides(e))
		}
		return errors.Join(rest...)
	}
	return err
}

// ofMachine says whether err is the answer of a file system or a network: no permission, no
// space, no connection.
func ofMachine(err error) bool {
	var number syscall.Errno
	var network net.Error
	return errors.As(err, &number) || errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)
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
