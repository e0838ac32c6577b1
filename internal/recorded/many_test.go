package recorded

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
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
	"github.com/isowatch/isowatch/window"
	"github.com/klauspost/compress/zstd"
)

// manySessions are the histories of blind writes over hundreds of sessions, unpacked, by name.
func manySessions(tb testing.TB) map[string]string {
	tb.Helper()
	packed, err := filepath.Glob(filepath.Join(folder, "many-sessions", "*.bincode.zst"))
	if err != nil || len(packed) == 0 {
		tb.Skip("needs the recorded histories, which stand beside the checkout in ../shared")
	}
	all := map[string]string{}
	for _, name := range packed {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		defer f.Close()
		r, err := zstd.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		defer r.Close()
		text, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		base := strings.TrimSuffix(filepath.Base(name), ".zst")
		all[base] = writeFile(tb, base, text)
	}
	return all
}

func writeFile(tb testing.TB, name string, text []byte) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// checkAt checks a history at the levels, at the defaults if there are none.
func checkAt(tb testing.TB, file, levels string) *whole.Report {
	tb.Helper()
	watch := config.DefaultWatch(config.WholeContract())
	if levels != "" {
		var err error
		if watch.Levels, err = isolation.ParseLevels(levels); err != nil {
			tb.Fatal(err)
		}
		watch.Named = true
	}
	r, err := (&whole.Whole{Watch: watch}).CheckFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// Blind writes over many sessions are decided at each level alone, and with the defaults. They
// are serial executions.
func TestManySessions(t *testing.T) {
	t.Parallel()
	files := manySessions(t)
	for i, name := range slices.Sorted(maps.Keys(files)) {
		for j, levels := range []string{"", serializable, snapshot, session + serializable, session + snapshot, "prefix"} {
			if testrun.LeavesOut(i, 3) && (i > 1 || j > 0) || testrun.LeavesOut(j, 3) {
				continue // of the large ones the short form has one, at the defaults
			}
			for level, verdict := range checkAt(t, files[name], levels).Verdicts {
				if verdict != window.OK {
					t.Errorf("%s at %q: %s is %s", name, levels, level, verdict)
				}
			}
		}
	}
}

// Two transactions that write the same two keys, and a third one that sees one write of each,
// are found among them.
func TestManySessionsCrossed(t *testing.T) {
	t.Parallel()
	files := manySessions(t)
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if testrun.LeavesOut(i, 3) {
			continue
		}
		text, err := os.ReadFile(files[name])
		if err != nil {
			t.Fatal(err)
		}
		file := writeFile(t, "crossed.bincode", crossed(text))
		levels := []string{snapshot, serializable}
		if testrun.Short() {
			levels = levels[:1]
		}
		for _, level := range levels {
			r := checkAt(t, file, level)
			if r.Verdicts[level] != window.Violated || len(r.Findings) == 0 || r.Findings[0].Kind != finding.KindViolation {
				t.Errorf("%s: %s is %s, %d findings", name, level, r.Verdicts[level], len(r.Findings))
			}
		}
	}
}

// crossed adds three sessions of one transaction each to a history in dbcop's binary form.
func crossed(text []byte) []byte {
	at := 5 * 8
	for range 3 {
		at += 8 + int(binary.LittleEndian.Uint64(text[at:]))
	}
	text = bytes.Clone(text)
	binary.LittleEndian.PutUint64(text[at:], binary.LittleEndian.Uint64(text[at:])+3)
	number := func(n uint64) { text = binary.LittleEndian.AppendUint64(text, n) }
	const write, read, done = 1, 0, 1
	for _, txn := range [][2][3]uint64{
		{{write, 1, 1 << 40}, {write, 2, 2 << 40}},
		{{write, 1, 3 << 40}, {write, 2, 4 << 40}},
		{{read, 1, 1 << 40}, {read, 2, 4 << 40}},
	} {
		number(1)
		number(2)
		for _, op := range txn {
			text = append(text, byte(op[0]))
			number(op[1])
			number(op[2])
			text = append(text, done)
		}
		text = append(text, done)
	}
	return text
}

// BenchmarkManySessions checks each of them at snapshot isolation and at serializable.
func BenchmarkManySessions(b *testing.B) {
	for name, file := range manySessions(b) {
		for _, level := range []string{serializable, snapshot} {
			b.Run(name+"/"+level, func(b *testing.B) {
				for b.Loop() {
					if r := checkAt(b, file, level); r.Verdicts[level] != window.OK {
						b.Fatal(r.Verdicts)
					}
				}
			})
		}
	}
}
