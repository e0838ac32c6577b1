package tail

import (
	"path/filepath"
	"slices"
)

// match is what the patterns name at one time.
type match struct {
	// heads are the paths to read, in the order of the patterns, then by name.
	heads []string
	// older are the files that match and are generations of a head, by head.
	older map[string][]string
	// without are the patterns that match no file.
	without []string
}

// find looks for the patterns' files. known are heads found before: a file that
// rotation made of one of them is not a head of its own.
func find(globs []string, known map[string]bool) (match, error) {
	m := match{older: map[string][]string{}}
	var paths []string
	seen := map[string]bool{}
	for _, g := range globs {
		found := []string{g}
		if !exists(g) { // a name may hold the characters of patterns
			var err error
			if found, err = filepath.Glob(g); err != nil {
				return match{}, err
			}
		}
		any := false
		for _, p := range found {
			p = filepath.Clean(p)
			_, ok := look(p)
			any = any || ok
			if ok && !seen[p] {
				seen[p] = true
				paths = append(paths, p)
			}
		}
		if !any {
			m.without = append(m.without, g)
		}
	}
	candidates := slices.Clone(paths)
	for p := range known {
		candidates = append(candidates, p)
	}
	for _, p := range paths {
		if known[p] {
			m.heads = append(m.heads, p)
		} else if head, ok := headOf(p, candidates); ok {
			m.older[head] = append(m.older[head], p)
		} else {
			m.heads = append(m.heads, p)
		}
	}
	return m, nil
}

// headOf finds the path that p was rotated from: the shortest one in the same
// folder, since app.log.1.gz looks rotated from app.log.1 as well.
func headOf(p string, candidates []string) (head string, ok bool) {
	for _, c := range candidates {
		if c == p || filepath.Dir(c) != filepath.Dir(p) || !isRotated(filepath.Base(c), filepath.Base(p)) {
			continue
		}
		if !ok || len(c) < len(head) {
			head, ok = c, true
		}
	}
	return head, ok
}
