package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sameSignal is how long after a signal another one is taken for the same: timeout(1) sends
// its signal to the process, and then to the process group.
const sameSignal = 200 * time.Millisecond

// untilSignalled ends the context at the first SIGINT or SIGTERM, and the
// process at the second one, if that is not the same again.
func untilSignalled(exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		for first := time.Now(); ; {
			if <-signals; time.Since(first) > sameSignal {
				break
			}
		}
		exit(exitInterrupted)
	}()
	return ctx, func() { signal.Stop(signals) }
}

// onHangup tells of each SIGHUP, until stop.
func onHangup() (hangups <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}
