package kafka

import (
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestMain lets tests run side by side: they wait for the broker's and the reader's timers.
func TestMain(m *testing.M) {
	testrun.Waiting(6)
	m.Run()
}
