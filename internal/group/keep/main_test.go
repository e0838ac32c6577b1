package keep

import (
	"os"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestMain lets tests run side by side: they wait for timers of the keeper.
func TestMain(m *testing.M) {
	testrun.Waiting(6)
	os.Exit(testrun.Run(m.Run))
}
