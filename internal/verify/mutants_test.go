package verify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestMutants takes each rule out of the package, one at a time, and wants TestWitnesses to
// fail: a condition that refuses is never true, one that accepts always is, an error is none.
// So it does with each part of a condition, in every function: what is true or false is always
// so, never so, or returned as the other. Survivors are listed in testdata/survivors, with the
// reason: such a mutant says the same of every witness. All mutants are in one test binary,
// which is told which one it is to be: 80 s for all, most of it for the runs.
func TestMutants(t *testing.T) {
	if testing.Short() || os.Getenv(mutantVar) != "" {
		t.Skip("tries 1,789 mutants of the package: not with -short, and not in a mutant itself")
	}
	binary, all := buildMutants(t)
	if out, err := runMutant(binary, 0); err != nil {
		t.Fatalf("without a mutation: %v\n%s", err, out)
	}
	known := survivors(t)
	tried, killed := 0, 0
	step := testrun.Size(64, 1)
	for i, m := range all {
		if i%step > 0 {
			delete(known, m.name)
			continue
		}
		tried++
		if _, err := runMutant(binary, i+1); err != nil {
			killed++
			if known[m.name] != "" {
				t.Errorf("%s does not survive any more: take it out of testdata/survivors", m.name)
			}
		} else if known[m.name] == "" {
			t.Errorf("%s: nothing fails without it: %s", m.at, m.name)
		}
		delete(known, m.name)
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		t.Errorf("testdata/survivors names %q, which is none of the mutants", name)
	}
	t.Logf("%d of %d mutants are refused, %d say the same of every witness", killed, tried, tried-killed)
}

const mutantVar = "ISOWATCH_MUTANT"

// mutant is a change of the package.
type mutant struct{ name, at string }

// runMutant runs the package's tests as the n-th mutant, from 1.
func runMutant(binary string, n int) (out []byte, err error) {
	cmd := exec.Command(binary, "-test.run", "^(TestWitnesses|TestVerify.*)$", "-test.timeout", "20s", "-test.failfast")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", mutantVar, n))
	return cmd.CombinedOutput()
}

// survivors are the mutants that no witness can tell, with why: "name: reason" a line.
func survivors(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/survivors")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, why, ok := strings.Cut(line, " // ")
		if !ok || all[name] != "" {
			t.Errorf("survivors: %q gives no reason, or is there twice", line)
		}
		all[name] = why
	}
	return all
}

// buildMutants builds the package's test binary with all mutants in it.
func buildMutants(t *testing.T) (binary string, all []mutant) {
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	write := func(name string, text []byte) {
		replaced := filepath.Join(dir, name)
		if err := os.WriteFile(replaced, text, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, name)] = replaced
	}
	x := mutator{names: map[string]int{}}
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") && name != "essential.go" { // what that derives is drawn, and proves nothing
			write(name, x.file(t, name))
		}
	}
	write("mutant.go", []byte(`package verify

import ("os"; "strconv")

var mutant, _ = strconv.Atoi(os.Getenv("`+mutantVar+`"))
`))
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "mutants.test")
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary, x.all
}

// mutator puts mutants into the text of files.
type mutator struct {
	all     []mutant
	names   map[string]int // how often each was given
	text    []byte
	fset    *token.FileSet
	inside  string            // function
	met     map[ast.Expr]bool // expressions that have had their mutants
	inserts []insert
}

// insert is a text that goes in before an offset.
type insert struct {
	at   int
	text string
}

func (x *mutator) file(t *testing.T, name string) []byte {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	x.fset = token.NewFileSet()
	parsed, err := parser.ParseFile(x.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	x.text, x.inserts, x.met = text, nil, map[ast.Expr]bool{}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			x.inside = f.Name.Name
			x.function(f.Type, f.Body)
		}
	}
	slices.SortStableFunc(x.inserts, func(a, b insert) int { return a.at - b.at })
	var out bytes.Buffer
	last := 0
	for _, i := range x.inserts {
		out.Write(text[last:i.at])
		out.WriteString(i.text)
		last = i.at
	}
	out.Write(text[last:])
	return out.Bytes()
}

// function changes the conditions and returns of a body, and every other text in it that is
// true or false.
func (x *mutator) function(typ *ast.FuncType, body *ast.BlockStmt) {
	results := resultsOf(typ)
	result := ""
	if len(results) == 1 {
		result = results[0]
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			x.function(n.Type, n.Body)
			return false
		case *ast.IfStmt:
			x.condition(n.Cond, n.Body.List, result)
		case *ast.ForStmt:
			if n.Cond != nil {
				x.operands(n.Cond, "", kinds{false, true}, kinds{false, true}) // else it may never end
			}
		case *ast.SwitchStmt:
			if n.Tag != nil {
				break
			}
			for _, s := range n.Body.List {
				if c := s.(*ast.CaseClause); len(c.List) == 1 {
					x.condition(c.List[0], c.Body, result)
				}
			}
		case *ast.ReturnStmt:
			x.returns(n, results)
		case *ast.BinaryExpr:
			switch n.Op {
			case token.LOR, token.LAND, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
				x.operands(n, "", kinds{true, true}, kinds{true, true})
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				x.operands(n, "", kinds{true, true}, kinds{true, true})
			}
		}
		return true
	})
}

// resultsOf are the types of a function's results, "" for those that have no simple name.
func resultsOf(typ *ast.FuncType) (all []string) {
	if typ.Results == nil {
		return nil
	}
	for _, f := range typ.Results.List {
		id, _ := f.Type.(*ast.Ident)
		for range max(1, len(f.Names)) {
			if id == nil {
				all = append(all, "")
			} else {
				all = append(all, id.Name)
			}
		}
	}
	return all
}

// returns changes what is returned: an error is none, and what is true or false is the other.
func (x *mutator) returns(n *ast.ReturnStmt, results []string) {
	if len(n.Results) != len(results) {
		return // bare, or of a call
	}
	if len(results) == 1 && results[0] == "error" {
		if x.code(n.Results[0]) != "nil" {
			x.insert(n.Pos(), fmt.Sprintf("if mutant == %d { return nil }; ", x.add(n, "accepts instead of "+x.code(n))))
		}
		return
	}
	for i, e := range n.Results {
		if results[i] != "bool" {
			continue
		}
		what := "the other of " + x.code(e)
		if len(results) > 1 {
			what += " in " + x.code(n)
		}
		x.insert(e.Pos(), fmt.Sprintf("((mutant == %d) != (", x.add(e, what)))
		x.operands(e, "", kinds{true, true}, kinds{true, true})
		x.insert(e.End(), "))")
	}
}

// condition changes the condition of a body: what it refuses it does not any more, or what it
// lets pass it does always.
func (x *mutator) condition(cond ast.Expr, body []ast.Stmt, result string) {
	returns := ""
	if len(body) > 0 {
		if r, ok := body[len(body)-1].(*ast.ReturnStmt); ok && len(r.Results) == 1 {
			returns = x.code(r.Results[0])
		}
	}
	refuses := result == "error" && returns != "" && returns != "nil"
	accepts := result == "error" && returns == "nil"
	x.operands(cond, "", kinds{!refuses, !accepts}, kinds{!refuses, !accepts})
}

// kinds says whether a condition may be true always, and never.
type kinds struct{ always, never bool }

// operands lets the expression, and each operand of its "or" and "and", be true always or
// never: as may says, and here only as now says. An operand that makes the whole what it is by
// itself is no mutant of its own.
func (x *mutator) operands(e ast.Expr, of string, may, now kinds) {
	if p, ok := e.(*ast.ParenExpr); ok {
		x.operands(p.X, of, may, now)
		return
	}
	if x.met[e] {
		return
	}
	x.met[e] = true
	code := x.code(e)
	if code == "true" || code == "false" {
		return
	}
	if of != "" {
		of = " of " + of
	}
	if now.never {
		x.insert(e.Pos(), fmt.Sprintf("(mutant != %d && (", x.add(e, "never "+code+of)))
	}
	if now.always {
		x.insert(e.Pos(), fmt.Sprintf("(mutant == %d || (", x.add(e, "always "+code+of)))
	}
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.NOT {
		x.operands(u.X, code, kinds{may.never, may.always}, kinds{}) // its parts only
	}
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.LOR || b.Op == token.LAND) {
		or := b.Op == token.LOR
		for _, y := range []ast.Expr{b.X, b.Y} {
			x.operands(y, code, may, kinds{may.always && !or, may.never && or})
		}
	}
	for _, is := range []bool{now.never, now.always} {
		if is {
			x.insert(e.End(), "))")
		}
	}
}

// add names a mutant and returns its number, from 1.
func (x *mutator) add(n ast.Node, what string) int {
	name := x.inside + ": " + what
	if x.names[name]++; x.names[name] > 1 {
		name = fmt.Sprintf("%s (%d)", name, x.names[name])
	}
	x.all = append(x.all, mutant{name, x.fset.Position(n.Pos()).String()})
	return len(x.all)
}

func (x *mutator) insert(at token.Pos, text string) {
	x.inserts = append(x.inserts, insert{x.fset.Position(at).Offset, text})
}

// code is the text of a node on one line.
func (x *mutator) code(n ast.Node) string {
	from, to := x.fset.Position(n.Pos()).Offset, x.fset.Position(n.End()).Offset
	return strings.Join(strings.Fields(string(x.text[from:to])), " ")
}
