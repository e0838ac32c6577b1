package infertest_test

import (
	"testing"

	"github.com/isowatch/isowatch/internal/infer/infertest"
)

// TestAll runs the histories of all packages: a mutant of one may show in those of another.
func TestAll(t *testing.T) { infertest.Rules(t, "../testdata/*.txt", "../*/testdata/*.txt") }
