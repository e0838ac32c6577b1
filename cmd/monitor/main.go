// Command monitor watches the transactions that clients run against a database,
// and tells when what they saw contradicts the isolation level that the database
// promises.
package main

import "os"

func main() {
	crashByAbort()
	var undo undoing
	ctx, stop := untilSignalled(undo.run, os.Exit)
	code := run(ctx, os.Args[1:], terminal{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv, environ: os.Environ, undo: &undo, linger: lingerWait,
	})
	stop()
	os.Exit(code)
}
