//go:build integration

package main

import (
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// samples list what the program took at a time, over its lives.
type samples struct {
	began time.Time
	list  []sample
}

type sample struct {
	at                            time.Duration
	heap, disk, goroutines, files float64
	tables                        float64 // of Badger's tree: their descriptors are not in files
}

// soakYoung is the age below which a life is not looked at: it is recovering.
const soakYoung = time.Second

// add looks at the running program. The heap is what the last collection left: half
// of the heap at which the next one begins.
func (s *samples) add(t *testing.T, m *lives) {
	have := m.metrics(t)
	if have == nil || float64(time.Now().UnixMilli())/1000-have["process_start_time_seconds"] < soakYoung.Seconds() {
		return
	}
	tables, err := filepath.Glob(filepath.Join(m.data, "*", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	s.list = append(s.list, sample{
		at: time.Since(s.began), heap: have["go_memstats_next_gc_bytes"] / 2, disk: diskUsage(m.data), goroutines: have["go_goroutines"],
		files: have["process_open_fds"] - float64(len(tables)), tables: float64(len(tables)),
	})
}

// diskUsage returns what the folder's files hold in blocks: Badger's are sparse.
func diskUsage(dir string) float64 {
	sum := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // removed meanwhile
		}
		if info, err := entry.Info(); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += stat.Blocks * 512
			}
		}
		return nil
	})
	return float64(sum)
}

// soakSteady is how long a run must be for its heap, disk and tables to be judged.
// In a shorter one what is there still grows towards its level: the filters of
// retired values, for the first 8 million transactions, and the tree.
const soakSteady = 10 * time.Minute

// judge compares the medians of the middle third and of the last, which may be 10%
// higher.
func (s *samples) judge(t *testing.T, lasts time.Duration) {
	t.Helper()
	if len(s.list) == 0 {
		t.Fatal("the program was never seen at work")
	}
	const bar = 0.10
	took := s.list[len(s.list)-1].at
	for _, what := range []struct {
		name   string
		of     func(sample) float64
		unit   float64
		slack  float64 // beside the 10%: a connection more or less
		judged bool
	}{
		{"heap MB", func(x sample) float64 { return x.heap }, 1e6, 0, lasts >= soakSteady},
		{"disk MB", func(x sample) float64 { return x.disk }, 1e6, 0, lasts >= soakSteady},
		{"goroutines", func(x sample) float64 { return x.goroutines }, 1, 5, true},
		{"descriptors", func(x sample) float64 { return x.files }, 1, 8, true}, // a compaction between the two counts
		{"tables", func(x sample) float64 { return x.tables }, 1, 8, lasts >= soakSteady},
	} {
		var medians [3]float64
		for third := range medians {
			var values []float64
			for _, x := range s.list {
				if min(int(3*x.at/took), 2) == third {
					values = append(values, what.of(x)/what.unit)
				}
			}
			medians[third] = median(values)
		}
		t.Logf("%-12s by thirds: %.1f %.1f %.1f", what.name, medians[0], medians[1], medians[2])
		if what.judged && !(medians[2] <= medians[1]*(1+bar)+what.slack) {
			t.Errorf("%s: the last third is not within %.0f%% of the middle one", what.name, 100*bar)
		}
	}
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[len(values)/2]
}
