package recorded

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/whole"
)

// mostWords is how long a headline is where ids, keys and values are short.
const mostWords = 25

// The headline of every violation stands alone: it names two of the transactions, or the only one,
// and one of the keys.
func TestHeadlinesName(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("needs the recorded histories, which stand beside the checkout in ../shared: %v", err)
	}
	var names []string
	all := files(t, "dbcop/*.bincode")
	for i := 0; i < len(all); i += 16 * len(all) / testrun.Count(len(all)) {
		names = append(names, all[i])
	}
	for _, pattern := range []string{"polysi-text/violations/*", "elle/*.edn", "elle-cli/elle/*.edn", "elle-cli/knossos/*/bad/*.edn"} {
		names = append(names, files(t, pattern)...)
	}
	n := 0
	for i, level := range []string{snapshot, session + serializable, "strong-" + serializable, "linearizable"} {
		if i == 1 && testrun.Short() { // "strong-" has the same headlines, and more
			continue
		}
		for _, name := range names {
			if level == "linearizable" && !strings.Contains(name, "knossos") || strings.Contains(name, "huge") {
				continue
			}
			if testrun.Short() && filepath.Base(name) == "etcd.edn" { // 5 s of CPU
				continue
			}
			for _, f := range violations(t, name, level) {
				n++
				if wrong := wrongHeadline(&f); wrong != "" {
					t.Errorf("%s at %s: %q %s", name, level, f.Headline, wrong)
				}
			}
		}
	}
	if n < testrun.Least(150) {
		t.Errorf("%d violations, want hundreds", n)
	}
}

func violations(t *testing.T, name, level string) []finding.Finding {
	t.Helper()
	watch := config.DefaultWatch(config.WholeContract())
	l, err := isolation.ParseLevel(level)
	if err != nil {
		t.Fatal(err)
	}
	watch.Levels, watch.Named = []isolation.Level{l}, true
	r, err := (&whole.Whole{Watch: watch}).CheckFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return slices.DeleteFunc(r.Findings, func(f finding.Finding) bool { return f.Kind != finding.KindViolation })
}

// wrongHeadline returns what the headline lacks, "" for nothing.
func wrongHeadline(f *finding.Finding) string {
	words := strings.Fields(f.Headline)
	named := func(name string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return w == name || strings.TrimRight(w, ".,:;") == name })
	}
	ids := 0
	for _, id := range f.Txns {
		if named(id) {
			ids++
		}
	}
	if want := min(2, len(f.Txns)); ids < want {
		return fmt.Sprintf("names %d of its transactions, want %d of %v", ids, want, f.Txns)
	}
	about := func(e finding.Edge) bool { return e.Key != "" }
	if slices.ContainsFunc(f.Edges, about) && !slices.ContainsFunc(f.Edges, func(e finding.Edge) bool { return about(e) && named(e.Key) }) {
		return "names none of its keys"
	}
	if len(words) > mostWords {
		return fmt.Sprintf("has %d words", len(words))
	}
	return ""
}
