package tail

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/ingest/tail/lines"
)

// isRotated reports whether rotation makes name of base. It is base with a number, a date or
// "old" behind it (app.log.1, app.log-20261120, app.log.old). Or it has a date before its
// extension (app-2026-11-20T10-00-00.log). Each may also have .gz or .zst.
func isRotated(base, name string) bool {
	name, _ = lines.CutPacked(name)
	if rest, ok := strings.CutPrefix(name, base); ok {
		return rest == "" || rest == ".old" || isStamp(rest)
	}
	ext := filepath.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	rest, ok := strings.CutPrefix(name, stem)
	if !ok || ext == "" {
		return false
	}
	rest, ok = strings.CutSuffix(rest, ext)
	return ok && isStamp(rest)
}

// isStamp accepts a number or a date after a dot or a dash: .1, -20261120,
// .2026-11-20T10:00:00.5Z.
func isStamp(s string) bool {
	if len(s) < 2 || s[0] != '.' && s[0] != '-' || s[1] < '0' || s[1] > '9' {
		return false
	}
	return strings.Trim(s, "0123456789.-:_TZ") == ""
}

// sortByAge puts files in the order of their last writing. Fast writers fill several files
// within one step of the file system's clock (4 ms is usual). Such files are put in the order
// of their numbers. Numbers grow with age, unless the other files show that they fall with it,
// as dates do.
func sortByAge(files []sibling) {
	slices.SortStableFunc(files, func(a, b sibling) int { return a.written.Compare(b.written) })
	upwards := 0
	for i := range len(files) - 1 {
		if a, b := files[i], files[i+1]; a.written.Before(b.written) {
			upwards += natural(a.path, b.path)
		}
	}
	slices.SortStableFunc(files, func(a, b sibling) int {
		if c := a.written.Compare(b.written); c != 0 {
			return c
		}
		if upwards < 0 {
			return natural(a.path, b.path)
		}
		return natural(b.path, a.path)
	})
}

// natural compares texts, numbers in them by value: -1, 0 or 1.
func natural(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is the length of the number that s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// byAge puts paths in the order of their last writing, and leaves out all but regular files.
func byAge(paths []string) []string {
	var files []sibling
	for _, p := range paths {
		if s, ok := look(p); ok {
			files = append(files, s)
		}
	}
	sortByAge(files)
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.path
	}
	return out
}
