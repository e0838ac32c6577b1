//go:build !linux

package testdb

import "syscall"

// attributes say nothing: only Linux ends a process with its parent.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
