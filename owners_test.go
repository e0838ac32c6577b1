package isowatch_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// stateOf are the types whose state only their own package may change, by the package that uses them.
var stateOf = map[string]string{"window": "infer.State"}

// TestStateHasOneOwner: window says by a call what it wants changed in infer. It assigns no field of
// infer's state, and takes the address of none, so that no other line can change it either.
func TestStateHasOneOwner(t *testing.T) {
	for dir, owned := range stateOf {
		imports := exportsOf(t, dir)
		texts := map[string]string{}
		err := eachFile(func(in, name string, _ int, _ *ast.File) {
			if text, err := os.ReadFile(name); err == nil && in == dir && !strings.HasSuffix(name, "_test.go") {
				texts[name] = string(text)
			}
		})
		if err != nil || len(texts) < 50 {
			t.Fatalf("%d files of %s: %v", len(texts), dir, err)
		}
		for _, write := range fieldWrites(t, texts, owned, imports) {
			t.Errorf("%s: give %s a method that says what happened", write, owned)
		}
	}
}

// asking are the packages outside of inference that ask its state something.
var asking = []string{"window", "internal/engine"}

// TestQuestions: the packages of inference share rows, and so export them. Who uses inference sees the
// rows through [infer.State], and must not. It calls the methods that testdata/questions lists, reads the
// counters, and has values of the types that package infer names.
func TestQuestions(t *testing.T) {
	text, err := os.ReadFile("testdata/questions")
	if err != nil {
		t.Fatal(err)
	}
	listed, asked := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			listed[line] = true
		}
	}
	for _, dir := range asking {
		for place, name := range asksState(t, dir, asked) {
			t.Errorf("%s: %s is for the packages of inference: give infer.State a method", place, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if !listed[name] {
			t.Errorf("infer.State.%s is called, and is not in testdata/questions", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if !asked[name] {
			t.Errorf("testdata/questions has %s, which nobody calls", name)
		}
	}
}

// asksState notes the methods of infer.State that the package in dir calls. It lists, by their places, what else
// of inference it selects, except its counters and the fields of types that package infer names.
func asksState(t *testing.T, dir string, asked map[string]bool) map[string]string {
	t.Helper()
	const inference = module + "/internal/infer"
	imports := exportsOf(t, dir)
	named, err := imports.Import(inference)
	if err != nil {
		t.Fatal(err)
	}
	isNamed := map[types.Type]bool{}
	for _, name := range named.Scope().Names() {
		if tn, ok := named.Scope().Lookup(name).(*types.TypeName); ok {
			isNamed[types.Unalias(tn.Type())] = true
		}
	}
	fset := token.NewFileSet()
	var files []*ast.File
	err = eachFile(func(in, name string, _ int, _ *ast.File) {
		if in != dir || strings.HasSuffix(name, "_test.go") {
			return
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_other.go") { // of another system
			files = append(files, f)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: imports}).Check(module+"/"+dir, fset, files, info); err != nil {
		t.Fatal(err)
	}
	state := named.Scope().Lookup("State").Type()
	wrong := map[string]string{}
	for at, s := range info.Selections {
		of := s.Recv()
		if pointer, ok := of.(*types.Pointer); ok {
			of = pointer.Elem()
		}
		of = types.Unalias(of)
		owner, ok := of.(*types.Named)
		if !ok || owner.Obj().Pkg() == nil || !strings.HasPrefix(owner.Obj().Pkg().Path(), inference) {
			continue
		}
		_, isMethod := s.Obj().(*types.Func)
		switch {
		case of == state && isMethod:
			asked[s.Obj().Name()] = true
		case of == state && s.Obj().Name() == "Counters":
		case of == state || !isNamed[of]:
			wrong[fset.Position(at.Pos()).String()] = owner.Obj().Name() + "." + s.Obj().Name()
		}
	}
	return wrong
}

// TestFieldWrites: the rule sees each way to write a field, and lets reading be.
func TestFieldWrites(t *testing.T) {
	const text = `package window
import other "` + module + `/internal/infer"
type machine struct { infer *other.State; list []other.Edge; kept other.Counters }
func (m *machine) wrong() {
	m.infer.Counters.Gaps += 1
	m.infer.Counters.Gaps++
	(*m.infer).Counters, m.list = other.Counters{}, nil
	p := &m.infer.Counters
	p.Gaps = 2
	for m.infer.Counters.Gaps = range 3 {
	}
}
func (m *machine) right() int64 {
	m.infer = other.New(other.Options{})
	m.kept = m.infer.Counters
	m.kept.Gaps++
	m.list = append(m.list, other.Edge{})
	m.list[0].From = 1
	m.infer.LostInput(1)
	return m.infer.Counters.Gaps
}
`
	got := fieldWrites(t, map[string]string{"wrong.go": text}, "infer.State", exportsOf(t, "window"))
	want := []string{"wrong.go:5", "wrong.go:6", "wrong.go:7", "wrong.go:8", "wrong.go:10"}
	if !slices.Equal(got, want) {
		t.Errorf("writes of fields: %v, not %v", got, want)
	}
}

// fieldWrites lists where the package with these files writes what a value of the type owned holds,
// or takes its address.
func fieldWrites(t *testing.T, texts map[string]string, owned string, imports types.Importer) []string {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		f, err := parser.ParseFile(fset, name, texts[name], parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{Importer: imports}).Check("window", fset, files, info); err != nil {
		t.Fatal(err)
	}
	var writes []string
	look := func(place ast.Expr) {
		if inside(place, owned, info) {
			at := fset.Position(place.Pos())
			writes = append(writes, fmt.Sprintf("%s:%d", at.Filename, at.Line))
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, place := range n.Lhs {
					look(place)
				}
			case *ast.IncDecStmt:
				look(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					look(n.X)
				}
			case *ast.RangeStmt:
				for _, place := range []ast.Expr{n.Key, n.Value} {
					if place != nil {
						look(place)
					}
				}
			}
			return true
		})
	}
	return writes
}

// inside says whether place is a part of a value of the type owned.
func inside(place ast.Expr, owned string, info *types.Info) bool {
	for {
		switch x := place.(type) {
		case *ast.SelectorExpr:
			place = x.X
		case *ast.IndexExpr:
			place = x.X
		case *ast.ParenExpr:
			place = x.X
		case *ast.StarExpr:
			place = x.X
		default:
			return false
		}
		of := info.Types[place].Type
		if pointer, ok := of.(*types.Pointer); ok {
			of = pointer.Elem()
		}
		if named, ok := of.(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Name()+"."+named.Obj().Name() == owned {
			return true
		}
	}
}

// exportsOf imports what the package in dir does, from the build cache.
func exportsOf(t *testing.T, dir string) types.Importer {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", "./"+dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		exports[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
}
