package orders_test

import (
	"testing"

	"github.com/isowatch/isowatch/internal/infer/infertest"
)

// TestRules runs the histories of testdata.
func TestRules(t *testing.T) { infertest.Rules(t) }
