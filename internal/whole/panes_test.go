package whole_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// A report has verdicts over time also of levels that are decided at once: each pane with a transaction is ok. If a
// violation of another level leads to the machines, the level has its verdict in their panes.
func TestPanesOfLevelsDecidedAtOnce(t *testing.T) {
	const minute = int64(60e9)
	const begin = 30_000_000 * minute
	txn := func(id string, at int64, ops string) string {
		return fmt.Sprintf(`{"txn":%q,"session":%q,"seq":1,"status":"committed","start":%d,"end":%d,"ops":[%s]}`, id, id, begin+at*minute, begin+at*minute+1e9, ops)
	}
	valid := []string{
		txn("A", 0, `{"op":"w","key":"x","value":1}`), txn("B", 1, `{"op":"r","key":"x","value":1}`), txn("C", 5, `{"op":"r","key":"x","value":1},{"op":"w","key":"y","value":1}`),
	}
	skew := []string{
		txn("T1", 6, `{"op":"r","key":"p","found":false},{"op":"w","key":"q","value":1}`), txn("T2", 6, `{"op":"r","key":"q","found":false},{"op":"w","key":"p","value":1}`),
	}
	timeless := []string{`{"txn":"A","status":"committed","ops":[{"op":"w","key":"x","value":1}]}`, `{"txn":"B","status":"committed","ops":[{"op":"r","key":"x","value":1}]}`}
	for name, c := range map[string]struct {
		lines []string
		want  map[string][]string // by level
	}{
		"all at once": {valid, map[string][]string{"serializable": {"0 ok", "1 ok", "5 ok"}, "read-committed": {"0 ok", "1 ok", "5 ok"}}},
		"one by the machines": {append(slices.Clone(valid), skew...), map[string][]string{
			"serializable": {"0 ok", "1 ok", "5 ok", "6 violated"}, "read-committed": {"0 ok", "1 ok", "5 ok", "6 ok"},
		}},
		"without times": {timeless, map[string][]string{"serializable": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.jsonl")
			if err := os.WriteFile(path, []byte(strings.Join(c.lines, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			w := whole.Whole{Watch: config.DefaultWatch(config.WholeContract())}
			w.Watch.Levels = []isolation.Level{{Base: isolation.ReadCommitted}, {Base: isolation.Serializable}}
			r, err := w.CheckFile(path)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(r.Panes, func(a, b window.Pane) int { return int((a.Start - b.Start) / minute) })
			for level, want := range c.want {
				var got []string
				for i := range r.Panes {
					p := &r.Panes[i]
					got = append(got, fmt.Sprint((p.Start-begin)/minute, " ", p.Verdicts[level]))
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %q, want %q", level, got, want)
				}
			}
		})
	}
}
