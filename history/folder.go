package history

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// nameForm is how the files of a folder are called: prefix, number, suffix. They
// may lie in the folder or in one within it.
type nameForm struct{ prefix, suffix, within string }

var (
	cobraNames = nameForm{"T", ".log", ""}
	viperNames = nameForm{"J", ".log", "json"}
)

func (f nameForm) String() string { return f.prefix + "<number>" + f.suffix }

type numberedFile struct {
	path   string
	number int64
}

// in are the files of dir, by number.
func (f nameForm) in(dir fs.FS) ([]numberedFile, error) {
	folders := []string{"."}
	if f.within != "" {
		folders = append(folders, f.within)
	}
	var files []numberedFile
	for _, folder := range folders {
		entries, err := fs.ReadDir(dir, folder)
		if err != nil {
			if folder == "." {
				return nil, err
			}
			continue
		}
		for _, e := range entries {
			middle, ok := strings.CutPrefix(e.Name(), f.prefix)
			middle, ends := strings.CutSuffix(middle, f.suffix)
			n, used := leadingInteger([]byte(middle))
			if ok && ends && used > 0 && used == len(middle) && !e.IsDir() {
				files = append(files, numberedFile{path.Join(folder, e.Name()), n})
			}
		}
	}
	slices.SortStableFunc(files, func(a, b numberedFile) int {
		switch {
		case a.number < b.number:
			return -1
		case a.number > b.number:
			return 1
		}
		return 0
	})
	return files, nil
}
