package tail

import (
	"path/filepath"
	"slices"
)

// match has the files that the patterns name at one time.
type match struct {
	// heads are the paths to read, in the order of the patterns, then by name.
	heads []string
	// older are the files that match and are generations of a head, by head.
	older map[string][]string
	// without are the patterns that match no file.
	without []string
}

// find looks for the patterns' files, without those that match except. known are heads found
// before: a file that rotation made of one of them is not a head of its own. If one file has
// several names, one of them is a head: the known one, or the first.
func find(globs, except []string, known map[string]bool) (match, error) {
	m := match{older: map[string][]string{}}
	var paths []string
	seen := map[string]bool{}
	files := map[string]inode{}
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
			s, ok := look(p)
			any = any || ok
			if ok && !seen[p] && !Matches(except, p) {
				seen[p] = true
				paths = append(paths, p)
				files[p] = s.inode
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
	taken := map[inode]bool{}
	for _, p := range paths {
		if known[p] {
			taken[files[p]] = true
		}
	}
	for _, p := range paths {
		if known[p] {
			m.heads = append(m.heads, p)
		} else if head, ok := headOf(p, candidates); ok {
			m.older[head] = append(m.older[head], p)
		} else if f := files[p]; !taken[f] || f == (inode{}) { // otherwise another name of it is read: a link, or the same path in full
			taken[f] = true
			m.heads = append(m.heads, p)
		}
	}
	return m, nil
}

// Matches reports whether one of the patterns, or of the plain paths among them, names
// the path, which need not exist. Relative ones are taken from the working directory.
func Matches(globs []string, path string) bool {
	for _, g := range globs {
		g, p := filepath.Clean(g), path
		if filepath.IsAbs(g) != filepath.IsAbs(p) {
			var errs [2]error
			g, errs[0] = filepath.Abs(g)
			p, errs[1] = filepath.Abs(p)
			if errs[0] != nil || errs[1] != nil {
				continue // there is no working directory any more
			}
		}
		if g == p {
			return true
		}
		if ok, err := filepath.Match(g, p); ok && err == nil {
			return true
		}
	}
	return false
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
