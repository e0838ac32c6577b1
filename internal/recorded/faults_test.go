package recorded

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/whole"
)

// One fault is one finding: of 180 transactions of CockroachDB there are 1,986, and 1,803, on
// all levels. They stand for all of them.
func TestFaultsOfCockroachDB(t *testing.T) {
	for i, name := range []string{"0307447766", "0658c410a8"} {
		if i > 0 && testrun.Short() {
			break
		}
		want := map[string]int{"0307447766": 2239, "0658c410a8": 2046}[name]
		file := filepath.Join(folder, "dbcop", "cockroachdb-"+name+".bincode")
		if _, err := os.Stat(file); err != nil {
			t.Skipf("needs the recorded histories, which stand beside the checkout in ../shared: %v", err)
		}
		watch := config.DefaultWatch(config.WholeContract())
		watch.Levels, watch.Named = isolation.AllLevels(), true
		w := whole.Whole{Watch: watch}
		r, err := w.CheckFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n, cycles := 0, int64(0)
		for _, f := range r.Findings {
			if f.State != finding.Withdrawn {
				n++
				cycles += max(1, f.Count)
			}
		}
		t.Logf("%s: %d findings of %d cycles", name, n, cycles)
		if n > want*3/10 {
			t.Errorf("%s: %d findings, want at most 30%% of %d", name, n, want)
		}
		if cycles != int64(want) {
			t.Errorf("%s: they stand for %d, want %d", name, cycles, want)
		}
	}
}
