package oracle

import (
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

func TestMain(m *testing.M) {
	testrun.CollectRarely()
	m.Run()
}
