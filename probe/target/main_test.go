package target

import (
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestMain lets probes run side by side: each waits for its seconds to pass.
func TestMain(m *testing.M) {
	testrun.Waiting(8)
	m.Run()
}
