package isowatch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
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
// lines, than a reader can hold. Types of tests are types, too.
func TestSizes(t *testing.T) {
	types, files := map[string]sizeOfType{}, 0
	err := eachFile(func(dir, name string, lines int, f *ast.File) {
		files++
		if lines > maxFileLines {
			t.Errorf("%s has %d lines: at most %d", name, lines, maxFileLines)
		}
		addSizes(types, dir, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if fn, ok := n.(*ast.FuncType); ok && fn.Params.NumFields() > maxParams && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s: a function has %d parameters: at most %d", name, fn.Params.NumFields(), maxParams)
			}
			return true
		})
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

// TestSizesOfAnyType: fields are counted where a struct stands within another, too. Methods are counted of generic
// types, and of interfaces.
func TestSizesOfAnyType(t *testing.T) {
	const text = `package p
type one[T any] struct { a, b int; *two[T, int] }
func (o one[T]) first() {}
func (o *one[_]) second() {}
type two[K, V any] struct { in struct { c, d int }; list []struct { e int } }
func (o *two[K, V]) third() {}
type three interface { x(); y() }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]sizeOfType{}
	addSizes(got, "p", f)
	want := map[string]sizeOfType{"p.one": {3, 2}, "p.two": {5, 1}, "p.three": {0, 2}}
	if !maps.Equal(got, want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
}

// addSizes adds the fields and methods that a file declares to the sizes of its types. What a type gets from one
// that it embeds is counted there.
func addSizes(types map[string]sizeOfType, dir string, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
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
				x := types[dir+"."+spec.Name.Name]
				ast.Inspect(spec.Type, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.StructType:
						x.fields += n.Fields.NumFields()
					case *ast.InterfaceType:
						x.methods += n.Methods.NumFields()
					}
					return true
				})
				if x != (sizeOfType{}) {
					types[dir+"."+spec.Name.Name] = x
				}
			}
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
	switch generic := x.(type) {
	case *ast.IndexExpr:
		x = generic.X
	case *ast.IndexListExpr:
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
