// Command monitor watches the transactions that clients run against a database,
// and tells when what they saw contradicts the isolation level that the database
// promises.
//
// It promises its commands, flags and formats. Go code cannot import it.
package main

import (
	"os"
	"syscall"
)

func main() {
	crashByAbort()
	mask := syscall.Umask(0o077) // files hold records: they are for their owner
	var undo undoing
	ctx, stop := untilSignalled(undo.run, os.Exit)
	code := run(ctx, os.Args[1:], terminal{
		stdin:     os.Stdin,
		stdout:    os.Stdout,
		stderr:    os.Stderr,
		lookupEnv: os.LookupEnv,
		environ:   os.Environ,
		undo:      &undo,
		linger:    lingerWait,
		public:    func() { syscall.Umask(mask) },
	})
	stop()
	os.Exit(code)
}
