package tail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/ingest/tail/lines"
)

// errMoving means that files were renamed all the while that they were looked for. Look
// again at the next poll.
var errMoving = errors.New("the files are being renamed")

// listings bounds how often a folder is listed in one poll until two lists agree.
const listings = 8

// sibling is a file that may be a generation of a path.
type sibling struct {
	path    string
	inode   inode
	written time.Time // last
	head    bool      // the path's own file
}

func samePlace(a, b sibling) bool { return a.path == b.path && a.inode == b.inode }

// siblings lists the files that rotation may have made of the path, in the order of their last
// writing. The path's own file is the last.
//
// A folder cannot be read at one moment: a rename meanwhile hides a file, or shows it under a
// name that is another's by now. Renames move a file on and never back. So two whole lists that
// agree are true of the moment between them. A list is whole if each name led to a file. Where a
// name led to none, a file was renamed meanwhile. Another rename may hide it from the next
// list too. The lists may differ in files that do not matter. Where no two lists agree, the last
// one is returned with errMoving.
func (o *Options) siblings(path string, matters func(sibling) bool) ([]sibling, error) {
	var before []sibling
	wasWhole := false
	for i := range listings {
		found, whole, err := o.list(path)
		if err != nil {
			return nil, err
		}
		now := slices.DeleteFunc(slices.Clone(found), func(s sibling) bool { return !matters(s) })
		if wasWhole && whole && slices.EqualFunc(before, now, samePlace) {
			return inOrder(found), nil
		}
		if before, wasWhole = now, whole; i == listings-1 {
			return inOrder(found), errMoving
		}
	}
	return nil, errMoving
}

// list reads the folder once, in the order of the names. A compressed file is being
// written as long as what it is made from exists. whole says that each name was there still.
func (o *Options) list(path string) (found []sibling, whole bool, err error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, false, err
	}
	whole = true
	for _, e := range entries {
		name := e.Name()
		if name != base && !isRotated(base, name) {
			continue
		}
		if from, compressed := lines.CutPacked(name); compressed && name != base && contains(entries, from) {
			continue
		}
		p := filepath.Join(dir, name)
		o.glance(p)
		s, ok := look(p)
		if ok && !slices.ContainsFunc(found, func(o sibling) bool { return o.inode == s.inode }) {
			s.head = name == base
			found = append(found, s)
		}
		if _, err := os.Lstat(p); !ok && errors.Is(err, fs.ErrNotExist) {
			whole = false
		}
	}
	return found, whole, nil
}

// contains looks for a name in what os.ReadDir gave, which is sorted.
func contains(entries []os.DirEntry, name string) bool {
	_, ok := slices.BinarySearchFunc(entries, name, func(e os.DirEntry, n string) int { return strings.Compare(e.Name(), n) })
	return ok
}

// inOrder sorts by age, the path's own file last.
func inOrder(found []sibling) []sibling {
	isHead := func(s sibling) bool { return s.head }
	i := slices.IndexFunc(found, isHead)
	if i < 0 {
		sortByAge(found)
		return found
	}
	head := found[i]
	found = slices.Delete(found, i, i+1)
	sortByAge(found)
	return append(found, head)
}

// openListed opens a file that was listed, to read on from byte next. It returns
// errMoving if the name leads to nothing or to another file by now.
func (o *Options) openListed(s sibling, next int64) (*generation, error) {
	o.glance(s.path)
	g, err := open(s.path, o, next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errMoving
	case err != nil:
		return nil, err
	case g.inode != s.inode:
		g.close()
		return nil, errMoving
	}
	return g, nil
}

// target is the path, or what it links to: rotation leaves its files beside that.
func target(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// look describes the file at path; ok is false where there is no regular file.
func look(path string) (s sibling, ok bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return sibling{}, false
	}
	return sibling{path: path, inode: inodeOf(info), written: info.ModTime()}, true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
