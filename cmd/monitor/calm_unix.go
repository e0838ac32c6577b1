//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime tells how much the process has taken. It is false where the system does not say.
func processorTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
