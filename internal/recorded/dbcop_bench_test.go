package recorded

import (
	"path/filepath"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
)

// BenchmarkDBCop checks the 400 histories of CockroachDB and Galera.
func BenchmarkDBCop(b *testing.B) {
	files, err := filepath.Glob(filepath.Join(folder, "dbcop", "*.bincode"))
	if err != nil || len(files) == 0 {
		b.Skip("needs the recorded histories, which stand beside the checkout in ../shared")
	}
	const weak = "strong-session-monotonic-atomic-view,strong-session-read-atomic,strong-session-causal"
	const strong = "strong-session-snapshot-isolation,strong-session-serializable"
	for _, c := range []struct{ name, levels string }{
		{"weak levels", weak}, {"strong levels", strong}, {"five levels", weak + "," + strong},
	} {
		b.Run(c.name, func(b *testing.B) {
			watch := config.DefaultWatch(config.WholeContract())
			watch.Named = true
			if watch.Levels, err = isolation.ParseLevels(c.levels); err != nil {
				b.Fatal(err)
			}
			findings := 0
			for b.Loop() {
				findings = 0
				for _, file := range files {
					r, err := (&whole.Whole{Watch: watch}).CheckFile(file)
					if err != nil {
						b.Fatal(err)
					}
					findings += len(r.Findings)
				}
			}
			b.ReportMetric(float64(findings), "findings")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(files)), "ms/file")
		})
	}
}
