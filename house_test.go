package isowatch_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestRoomsCallDownwards: a room calls the rooms below it, and none above. With -v it logs the figures of
// docs/design.md: files, lines, the largest types, and the calls between rooms.
func TestRoomsCallDownwards(t *testing.T) {
	logFigures(t)
	for dir, rooms := range roomsOf {
		down, up := callsBetween(t, dir, rooms)
		t.Logf("%s: %d calls from a room to a lower one, %d upwards", dir, down, len(up))
		for _, call := range up {
			t.Errorf("%s: a lower room does not know the ones above", call)
		}
		if down == 0 {
			t.Errorf("%s: no calls between rooms were seen", dir)
		}
	}
}

// callsBetween counts the calls from a method of one room of the package to a method of a lower one, and
// lists those to a higher one.
func callsBetween(t *testing.T, dir string, rooms []string) (down int, up []string) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	err := eachFile(func(in, name string, _ int, _ *ast.File) {
		if in != dir || strings.HasSuffix(name, "_test.go") {
			return
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	})
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: exportsOf(t, dir)}).Check(module+"/"+dir, fset, files, info); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !slices.Contains(rooms, receiver(fn)) || fn.Body == nil {
				continue
			}
			from := slices.Index(rooms, receiver(fn))
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || info.Selections[sel] == nil {
					return true
				}
				to := slices.Index(rooms, roomOf(info.Selections[sel]))
				switch {
				case to < 0 || to == from:
				case to < from:
					down++
				default:
					up = append(up, fmt.Sprintf("%s: %s calls %s of %s", fset.Position(call.Pos()), fn.Name.Name, sel.Sel.Name, rooms[to]))
				}
				return true
			})
		}
	}
	return down, up
}

// roomOf is the name of the type that declares the selected method.
func roomOf(s *types.Selection) string {
	fn, ok := s.Obj().(*types.Func)
	if !ok {
		return ""
	}
	of := fn.Signature().Recv().Type()
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	if named, ok := of.(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

func logFigures(t *testing.T) {
	t.Helper()
	var files, tests, lines, testLines int
	types := map[string]sizeOfType{}
	err := eachFile(func(dir, name string, n int, f *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			tests, testLines = tests+1, testLines+n
			return
		}
		files, lines = files+1, lines+n
		addSizes(types, dir, f)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files of code with %d lines, %d of tests with %d lines", files, lines, tests, testLines)
	names := slices.Collect(maps.Keys(types))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(types[b].methods, types[a].methods), strings.Compare(a, b))
	})
	for _, name := range names[:4] {
		t.Logf("%s: %d fields, %d methods", name, types[name].fields, types[name].methods)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(types[b].fields, types[a].fields), strings.Compare(a, b))
	})
	for _, name := range names[:4] {
		t.Logf("%s: %d fields, %d methods", name, types[name].fields, types[name].methods)
	}
}
