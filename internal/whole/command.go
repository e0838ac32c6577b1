package whole

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// ReplayCommand names the input with flags, and what of w is not a default.
func ReplayCommand(w *config.Watch, flags []string) string {
	d := config.DefaultWatch(config.LiveContract())
	words := append([]string{"monitor", "replay"}, flags...)
	levels := slices.Clone(w.Levels)
	if !slices.Contains(levels, w.Expect) {
		levels = append(levels, w.Expect)
	}
	if w.Expected() != d.Expected() {
		words = append(words, "--expect", w.Expected())
	}
	if !sameLevels(levels, d.Levels) {
		words = append(words, "--levels", strings.Join(isolation.LevelNames(levels), ","))
	}
	if w.Lateness != d.Lateness {
		words = append(words, "--lateness", w.Lateness.String())
	}
	if w.MaxTransaction != d.MaxTransaction {
		words = append(words, "--max-transaction", w.MaxTransaction.String())
	}
	if w.Contract != d.Contract {
		usual := strings.Split(d.Contract.String(), ",")
		items := slices.DeleteFunc(strings.Split(w.Contract.String(), ","), func(item string) bool { return slices.Contains(usual, item) })
		words = append(words, "--contract", strings.Join(items, ","))
	}
	if !w.ShowValues {
		words = append(words, "--show-values=false")
	}
	words = append(words, ListFlag("--patterns", w.Patterns)...)
	words = append(words, ListFlag("--sessions", w.Sessions)...)
	for i := range words {
		words[i] = window.ShellQuote(words[i])
	}
	return strings.Join(words, " ")
}

// Greatest is the first of the levels that no other one implies: a user who asks for several
// expects all of them.
func Greatest(levels []isolation.Level) isolation.Level {
	for _, l := range levels {
		if !slices.ContainsFunc(levels, func(x isolation.Level) bool { return x != l && x.Implies(l) }) {
			return l
		}
	}
	return levels[0]
}

func sameLevels(a, b []isolation.Level) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(l isolation.Level) bool { return !slices.Contains(b, l) })
}

// FileFlag names files from anywhere: the command may be run in another folder.
func FileFlag(glob string) []string { return []string{"--file", Absolute(glob)} }

// Absolute is the path from the root, or as it was where the current folder is not known.
func Absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// ListFlag is the flag with its values, nothing where there are none.
func ListFlag(name string, values []string) []string {
	if len(values) == 0 {
		return nil
	}
	return []string{name, strings.Join(values, ",")}
}
