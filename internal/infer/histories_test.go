package infer_test

import (
	"testing"

	"github.com/isowatch/isowatch/internal/infer/infertest"
)

// TestRules runs the histories of testdata. Those of operations are in the packages below.
func TestRules(t *testing.T) { infertest.Rules(t) }
