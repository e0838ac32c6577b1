package mutate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// source is a package to mutate: its files without tests, parsed.
type source struct {
	path    string // import path
	name    string
	dir     string
	files   []file
	fset    *token.FileSet
	exports map[string]string // files of export data, by import path
}

type file struct {
	name string // without folder
	text []byte
	tree *ast.File
}

// listed holds what go list says of a package.
type listed struct {
	ImportPath, Name, Dir, Export string
	GoFiles                       []string
	DepOnly                       bool
}

// load reads a package. root is a folder of the module.
func load(root, pattern string) (*source, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,GoFiles,DepOnly", pattern)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w%s", pattern, err, stderrOf(err))
	}
	s := &source{fset: token.NewFileSet(), exports: map[string]string{}}
	var names []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list %s: %w", pattern, err)
		}
		s.exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			s.path, s.name, s.dir, names = l.ImportPath, l.Name, l.Dir, l.GoFiles
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(s.fset, name, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, file{name, text, tree})
	}
	return s, nil
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "\n" + string(exit.Stderr)
	}
	return ""
}

// check type-checks trees, which are s's own or changed ones, and calls fault with each
// error.
func (s *source) check(fset *token.FileSet, trees []*ast.File, info *types.Info, fault func(types.Error)) *types.Package {
	config := types.Config{
		Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
			return os.Open(s.exports[path])
		}),
		Error: func(err error) {
			var e types.Error
			if errors.As(err, &e) {
				fault(e)
			}
		},
	}
	p, _ := config.Check(s.path, fset, trees, info) // its error is the first of those that fault has had
	return p
}
