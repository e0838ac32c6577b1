//go:build !linux

package store

import "errors"

var errNotHere = errors.New("not on this system")

func residentFiles() (int64, error) { return 0, errNotHere }

func shed(string) error { return errNotHere }
