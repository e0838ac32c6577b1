package config

import (
	"time"

	"github.com/isowatch/isowatch/internal/isolation"
)

// SelfTestSource is the source of what the self-test plants.
const SelfTestSource = "isowatch-self-test"

// The planted anomalies are few, and often enough for the alert rule, which waits for 5 minutes.
const (
	minSelfTest = 5 * time.Second
	maxSelfTest = 2 * time.Minute
)

// selfTestWatch finds an aborted read at once, and soon forgets it.
func selfTestWatch() Watch {
	w := DefaultWatch(WholeContract())
	w.KeyCap = 1000
	w.Contract.IgnoreIsolation = true
	w.Expect = isolation.Level{Base: isolation.ReadCommitted}
	w.Levels, w.Named = []isolation.Level{w.Expect}, true
	w.Window.Duration, w.Lateness, w.MaxTransaction, w.Idle = 10*time.Second, 0, time.Second, time.Second
	w.Pane = time.Hour // nobody looks at them
	return w
}

func (s *Service) validateSelfTest(f *faults) {
	switch {
	case s.SelfTest == 0:
	case s.SelfTest < minSelfTest || s.SelfTest > maxSelfTest:
		f.add("self-test", "self-test %v: want %v to %v, or 0 for none", s.SelfTest, minSelfTest, maxSelfTest)
	case s.UsesStdin():
		f.add("self-test", "self-test: it never ends, and standard input does: leave one out")
	}
}
