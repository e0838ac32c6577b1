package main

import (
	"fmt"
	"runtime/debug"
	"syscall"
)

// crashError is a fault of the program that did not end the process: a panic.
type crashError struct {
	fault any
	stack []byte
}

func (e crashError) Error() string {
	return fmt.Sprintf("the monitor has a fault: %v\nReport it with the lines below, and with the input if you can.\n%s", e.fault, e.stack)
}

// guarded runs f. A panic in it becomes an error.
func guarded(f func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = crashError{fault, debug.Stack()}
		}
	}()
	return f()
}

// crashByAbort has a crash that no guard sees end with SIGABRT, which a shell shows as 134. By
// default Go ends with code 2, which here is a verdict. No core is written: it could hold a password.
func crashByAbort() {
	debug.SetTraceback("crash")
	var core syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &core) == nil {
		core.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &core) // lower is always allowed
	}
}
