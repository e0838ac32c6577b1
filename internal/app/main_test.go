package app

import (
	"os"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestMain lets tests wait for each other's timers: they compute for 8 s in all, and wait for 80 s.
func TestMain(m *testing.M) {
	testrun.Waiting(16)
	os.Exit(testrun.Run(m.Run))
}
