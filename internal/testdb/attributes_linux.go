package testdb

import "syscall"

// attributes end a server with the test process, however that ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
