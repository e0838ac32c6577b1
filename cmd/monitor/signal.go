package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sameSignal is the time within which a second signal counts as the first: timeout(1) signals the
// process, and then its process group.
const sameSignal = 200 * time.Millisecond

// untilSignalled ends the context at the first SIGINT or SIGTERM. At the second one it
// undoes what must not stay and ends the process, at the third one it ends it at once.
func untilSignalled(undo func(), exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		another(signals)
		go func() {
			another(signals)
			exit(exitInterrupted)
		}()
		undo()
		exit(exitInterrupted)
	}()
	return ctx, func() { signal.Stop(signals) }
}

// another waits for a signal that is not a repetition of the latest one.
func another(signals <-chan os.Signal) {
	for before := time.Now(); ; {
		if <-signals; time.Since(before) > sameSignal {
			return
		}
	}
}

// onHangup tells of each SIGHUP, until stop.
func onHangup() (hangups <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}
