package isowatch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// What one type or file may hold, so that a reader can hold it too.
const (
	maxFields    = 40
	maxMethods   = 120
	maxFileLines = 600
	maxParams    = 6
)

type sizeOfType struct{ fields, methods int }

// TestSizes: no type has more fields or methods, no function more parameters, and no file more
// lines, than a reader can hold.
func TestSizes(t *testing.T) {
	types, files := map[string]sizeOfType{}, 0
	err := eachFile(func(dir, name string, lines int, f *ast.File) {
		files++
		if lines > maxFileLines {
			t.Errorf("%s has %d lines: at most %d", name, lines, maxFileLines)
		}
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if n := d.Type.Params.NumFields(); n > maxParams {
					t.Errorf("%s: %s has %d parameters: at most %d", name, d.Name.Name, n, maxParams)
				}
				if of := receiver(d); of != "" {
					x := types[dir+"."+of]
					x.methods++
					types[dir+"."+of] = x
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					spec, ok := s.(*ast.TypeSpec)
					if !ok {
						continue
					}
					if st, ok := spec.Type.(*ast.StructType); ok {
						x := types[dir+"."+spec.Name.Name]
						x.fields += st.Fields.NumFields()
						types[dir+"."+spec.Name.Name] = x
					}
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Fatalf("%d files: not the whole module", files)
	}
	for name, x := range types {
		if x.fields > maxFields || x.methods > maxMethods {
			t.Errorf("%s has %d fields and %d methods: at most %d and %d", name, x.fields, x.methods, maxFields, maxMethods)
		}
	}
}

// receiver is the type that a method is of, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	x := d.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if generic, ok := x.(*ast.IndexExpr); ok {
		x = generic.X
	}
	if name, ok := x.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// eachFile calls fn with each Go file of the module.
func eachFile(fn func(dir, name string, lines int, f *ast.File)) error {
	fset := token.NewFileSet()
	return fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "node_modules"}, d.Name())):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		fn(path.Dir(name), name, fset.File(f.Pos()).LineCount(), f)
		return nil
	})
}
