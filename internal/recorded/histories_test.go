package recorded

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// The verdict on every history is the one that is known, and "unknown" is wrong.
func TestVerdicts(t *testing.T) {
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("needs the recorded histories, which stand beside the checkout in ../shared: %v", err)
	}
	t.Parallel()
	all := expectations(t)
	for _, group := range slices.Sorted(maps.Keys(all)) {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			right, wrong := 0, 0
			byFile := byFile(all[group])
			names, step := slices.Sorted(maps.Keys(byFile)), 1
			if group == "dbcop" || group == "porcupine/jepsen" { // hundreds of one kind
				step = len(names) / testrun.Count(len(names))
			}
			for i := 0; i < len(names); i += step {
				file, expected := names[i], byFile[names[i]]
				if inLongForm(file) {
					continue
				}
				verdicts := check(t, file, expected)
				for _, x := range expected {
					if got := verdicts[x.level]; got != x.verdict && (x.verdict != "" || got == window.Violated) {
						wrong++
						t.Errorf("%s: %s is %q, not %q", x.file, x.level, got, x.verdict)
					} else {
						right++
					}
				}
			}
			t.Logf("%-17s %4d right, %2d wrong", group, right, wrong)
		})
	}
}

// inLongForm says whether the file waits for the long form: the search for an order takes 5 to 12 s of CPU.
// The short form has the smaller logs of key-value stores.
func inLongForm(file string) bool {
	return testrun.Short() && slices.Contains([]string{"etcd.json", "etcd.edn", "c50-bad.txt"}, filepath.Base(file))
}

func byFile(all []expectation) map[string][]expectation {
	out := map[string][]expectation{}
	for _, x := range all {
		out[x.file] = append(out[x.file], x)
	}
	return out
}

// check gives the verdicts on the levels that are expected something of.
func check(t *testing.T, file string, expected []expectation) map[string]string {
	t.Helper()
	watch := config.DefaultWatch(config.WholeContract())
	watch.Levels, watch.Named = nil, true
	for _, x := range expected {
		l, err := isolation.ParseLevel(x.level)
		if err != nil {
			t.Fatal(err)
		}
		watch.Levels = append(watch.Levels, l)
	}
	w := whole.Whole{Watch: watch, DeadLetter: func(position, reason string) {
		t.Errorf("bad record at %s: %s", position, reason)
	}}
	r, err := w.CheckFile(filepath.Join(folder, file))
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return nil
	}
	if want := formatOf(file); r.Format != want {
		t.Errorf("%s is read as %s, not %s", file, r.Format, want)
	}
	return r.Verdicts
}

// formatOf is the format of a file, by the folder that it is in.
func formatOf(file string) string {
	group, _, _ := strings.Cut(file, "/")
	if ext := filepath.Ext(file); ext == ".bincode" {
		return "dbcop"
	} else if group == "elle-cli" && ext == ".json" {
		return "elle-json"
	}
	return map[string]string{
		"awdit": "awdit", "polysi-text": "polysi", "cobra": "cobra", "grail": "edn", "elle": "edn", "elle-cli": "edn",
		"porcupine": "porcupine", "viper": "viper", "timestamps": "timekiller",
	}[group]
}

// Every file there is part of a history of which something is expected, but for
// those that say what, and two that nothing is known of.
func TestEveryFile(t *testing.T) {
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("needs the recorded histories, which stand beside the checkout in ../shared: %v", err)
	}
	known := map[string]bool{"README.md": true, "elle-cli/custom/comments.edn": true, "porcupine/jepsen/etcd_095.log": true,
		"live": true, "many-sessions": true} // live_test.go, many_test.go
	for _, expected := range expectations(t) {
		for _, x := range expected {
			known[x.file] = true
		}
	}
	n := 0
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		if !known[name] && !known[filepath.Dir(name)] && filepath.Ext(name) != ".tsv" {
			return fmt.Errorf("%s: nothing is expected of it", name)
		}
		return nil
	})
	if err != nil || n < 500 {
		t.Errorf("%d files, %v", n, err)
	}
}
