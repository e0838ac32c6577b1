package keep

import (
	"os"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

func TestMain(m *testing.M) { os.Exit(testrun.Run(m.Run)) }
