package mutate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// Mutant is one change of a package. Name tells it from all others, and stays when lines
// move.
type Mutant struct {
	Number  int // in its package, from 1
	Package string
	Name    string // file, function: change
	At      string // file:line
	line    int
	file    string
}

// edit replaces a piece of a file's text, or is put in between.
type edit struct {
	at, end int
	text    string
	depth   int
	behind  bool // it closes what an edit at the same depth has opened
}

// finder finds the mutants of a package, and the edits that make them.
type finder struct {
	s        *source
	info     *types.Info
	pkg      *types.Package
	refused  map[string]bool // names of mutants that do not compile
	all      []Mutant
	names    map[string]int
	consts   map[types.Object]int // numbers of the mutants of named constants
	edits    map[string][]edit    // by file
	file     *file
	function string
	stack    []ast.Node
}

// find returns the mutants of s and what its files are with all of them in.
func find(s *source) ([]Mutant, map[string][]byte, error) {
	refused := map[string]bool{}
	for range 20 {
		x := &finder{
			s: s, refused: refused, names: map[string]int{}, consts: map[types.Object]int{}, edits: map[string][]edit{},
			info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}},
		}
		var trees []*ast.File
		for i := range s.files {
			trees = append(trees, s.files[i].tree)
		}
		var first error
		x.pkg = s.check(s.fset, trees, x.info, func(e types.Error) {
			if first == nil {
				first = e
			}
		})
		if first != nil {
			return nil, nil, first
		}
		for i := range s.files {
			x.mutateFile(&s.files[i])
		}
		texts := x.texts()
		again, err := x.refuse(texts)
		if err != nil || !again {
			return x.all, texts, err
		}
	}
	return nil, nil, fmt.Errorf("%s: its mutants do not compile", s.path)
}

func (x *finder) mutateFile(f *file) {
	x.file = f
	for _, d := range f.tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Name.Name == "init" || fn.Name.Name == "Check" || strings.HasPrefix(fn.Name.Name, "checkInvariant") {
			continue
		}
		x.function = fn.Name.Name
		x.body(fn.Type, fn.Body)
	}
}

// body mutates a function.
func (x *finder) body(typ *ast.FuncType, body *ast.BlockStmt) {
	x.early(typ, body)
	x.walk(body, typ)
}

// early lets the function return at once.
func (x *finder) early(typ *ast.FuncType, body *ast.BlockStmt) {
	var zero []string
	if typ.Results != nil {
		for _, r := range typ.Results.List {
			for range max(1, len(r.Names)) {
				zero = append(zero, "*new("+x.code(r.Type)+")")
			}
		}
	}
	if len(body.List) == 0 {
		return
	}
	if r, ok := body.List[0].(*ast.ReturnStmt); ok && len(r.Results) == 1 && x.isBool(r.Results[0]) {
		return // never true is the same
	}
	n := x.add(body, "does nothing")
	if n == 0 {
		return
	}
	x.put(edit{at: x.offset(body.Lbrace) + 1, text: fmt.Sprintf(" if mutantIs(%d) { return %s };", n, strings.Join(zero, ", ")), depth: levels * len(x.stack)})
}

// walk visits what stands below n. typ is the type of the function around it.
func (x *finder) walk(n ast.Node, typ *ast.FuncType) {
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			x.stack = x.stack[:len(x.stack)-1]
			return false
		}
		x.stack = append(x.stack, n)
		if x.node(n, typ) {
			return true
		}
		x.stack = x.stack[:len(x.stack)-1]
		return false
	})
}

// node mutates n, and says whether what stands below it is to be visited.
func (x *finder) node(n ast.Node, typ *ast.FuncType) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		x.body(n.Type, n.Body)
		return false
	case *ast.IfStmt:
		x.condition(n.Cond, true)
	case *ast.ForStmt:
		if n.Cond != nil {
			x.condition(n.Cond, false)
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, c := range n.Body.List {
				for _, cond := range c.(*ast.CaseClause).List {
					x.condition(cond, true)
				}
			}
		}
	case *ast.ReturnStmt:
		if len(n.Results) == 1 && x.isBool(n.Results[0]) {
			x.condition(n.Results[0], true)
		}
	case *ast.BlockStmt:
		x.statements(n.List)
	case *ast.CaseClause:
		x.statements(n.Body)
	case *ast.CommClause:
		x.statements(n.Body)
	case *ast.BinaryExpr:
		if x.isConstant(n) {
			x.integer(n)
			return false
		}
		x.binary(n)
	case *ast.CallExpr:
		return x.call(n)
	case *ast.GenDecl, *ast.ArrayType, *ast.StructType:
		return false // constants that must stay constant
	case *ast.BasicLit, *ast.Ident, *ast.ParenExpr, *ast.UnaryExpr, *ast.SelectorExpr:
		if e := n.(ast.Expr); x.isConstant(e) {
			x.integer(e)
			return false
		}
		if s, ok := n.(*ast.SelectorExpr); ok {
			x.walk(s.X, typ) // its other side is a name
			return false
		}
	}
	return true
}

// statements leaves each of them out.
func (x *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if c, ok := s.X.(*ast.CallExpr); ok && x.code(c.Fun) == "panic" {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || x.code(s.Lhs[0]) == "_" {
				continue
			}
		case *ast.IncDecStmt:
		case *ast.BranchStmt:
			if s.Tok != token.BREAK && s.Tok != token.CONTINUE {
				continue
			}
		case *ast.ReturnStmt:
			if len(s.Results) > 0 {
				continue
			}
		default:
			continue
		}
		if n := x.add(s, "without "+x.code(s)); n != 0 {
			x.around(s, 1, fmt.Sprintf("if !mutantIs(%d) { ", n), " }")
		}
	}
}

// condition lets e be always true, and never. Each is reached where it makes a difference: where e
// is not what it is to be.
func (x *finder) condition(e ast.Expr, always bool) {
	if x.isConstant(e) {
		return
	}
	code := x.code(e)
	if n := x.add(e, "never "+code); n != 0 {
		x.around(e, 0, "((", fmt.Sprintf(") && !mutantIs(%d))", n))
	}
	if !always {
		return
	}
	if n := x.add(e, "always "+code); n != 0 {
		x.around(e, 0, "((", fmt.Sprintf(") || mutantIs(%d))", n))
	}
}

// binary mutates an operator.
func (x *finder) binary(e *ast.BinaryExpr) {
	code := x.code(e)
	switch e.Op {
	case token.LAND, token.LOR:
		behind := ") || mutantIs(%d))"
		if e.Op == token.LOR {
			behind = ") && !mutantIs(%d))"
		}
		for _, y := range []ast.Expr{e.X, e.Y} {
			if n := x.add(y, "without "+x.code(y)+" in "+code); n != 0 {
				x.around(y, 1, "((", fmt.Sprintf(behind, n))
			}
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		to := map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}[e.Op]
		name := map[token.Token]string{token.LSS: "mutantLess", token.LEQ: "mutantAtMost", token.GTR: "mutantMore", token.GEQ: "mutantAtLeast"}[e.Op]
		x.operator(e, code+" with "+to, name)
	case token.ADD, token.SUB:
		if b, ok := x.info.Types[e].Type.Underlying().(*types.Basic); !ok || b.Info()&types.IsNumeric == 0 {
			return
		}
		to := map[token.Token]string{token.ADD: "-", token.SUB: "+"}[e.Op]
		name := map[token.Token]string{token.ADD: "mutantAdd", token.SUB: "mutantSub"}[e.Op]
		x.operator(e, code+" with "+to, name)
	}
}

// operator makes a call of e.
func (x *finder) operator(e *ast.BinaryExpr, what, name string) {
	n := x.add(e, what)
	if n == 0 {
		return
	}
	x.around(e, 0, fmt.Sprintf("%s(%d, ", name, n), ")")
	at := x.offset(e.OpPos)
	x.put(edit{at: at, end: at + len(e.Op.String()), text: ",", depth: levels * len(x.stack)})
}

// call mutates min and max, and says whether its arguments are to be visited: those that
// only say how much memory is taken are not.
func (x *finder) call(c *ast.CallExpr) bool {
	if x.isConstant(c) {
		return false
	}
	name := x.code(c.Fun)
	switch name {
	case "make", "slices.Grow", "panic", "fmt.Errorf", "fmt.Sprintf", "new":
		return false
	case "min", "max":
		if len(c.Args) != 2 {
			return true
		}
		to := map[string]string{"min": "max", "max": "min"}[name]
		if n := x.add(c, x.code(c)+" with "+to); n != 0 {
			x.put(edit{at: x.offset(c.Pos()), end: x.offset(c.Lparen) + 1, text: fmt.Sprintf("mutant%s(%d, ", strings.ToUpper(name[:1])+name[1:], n), depth: levels * len(x.stack)})
			for _, a := range c.Args {
				x.walk(a, nil)
			}
			return false
		}
	}
	return true
}

// integer mutates a constant of a plain integer type: one that counts something. One of a type
// of its own names something, and bits are no numbers.
func (x *finder) integer(e ast.Expr) {
	tv := x.info.Types[e]
	b, ok := tv.Type.(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 || b.Info()&types.IsUntyped != 0 || tv.Value == nil || !x.counts(e) {
		return
	}
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		if c, ok := x.info.Uses[id].(*types.Const); ok && c.Parent() == x.pkg.Scope() {
			x.named(e, id, c, b)
		}
		return
	}
	if _, isLiteral := ast.Unparen(e).(*ast.BasicLit); !isLiteral && !strings.ContainsAny(x.code(e), "0123456789") {
		return
	}
	if n := x.add(e, x.code(e)+" and one more"); n != 0 {
		x.around(e, 0, fmt.Sprintf("mutantPick[%s](%d, ", b.Name(), n), ", "+x.code(e)+"+1)")
	}
}

// named lets a constant of the package be 1, or 2, wherever it is used.
func (x *finder) named(e ast.Expr, id *ast.Ident, c *types.Const, b *types.Basic) {
	one := "1"
	if v, ok := constant.Int64Val(c.Val()); !ok || v == 1 {
		one = "2"
	}
	n, ok := x.consts[c]
	if !ok {
		function := x.function
		x.function = "const"
		n = x.add(e, id.Name+" is "+one)
		x.function = function
		x.consts[c] = n
	}
	if n != 0 {
		x.around(e, 0, fmt.Sprintf("mutantPick[%s](%d, ", b.Name(), n), ", "+one+")")
	}
}

// counts says whether the constant e is a number: no set of bits, no place in a composite
// literal, no case of a switch.
func (x *finder) counts(e ast.Expr) bool {
	var child ast.Node = e
	for i := len(x.stack) - 2; i >= 0; i-- {
		switch p := x.stack[i].(type) {
		case *ast.BinaryExpr:
			switch p.Op {
			case token.AND, token.OR, token.AND_NOT, token.XOR, token.SHL, token.SHR:
				return false
			}
		case *ast.AssignStmt:
			switch p.Tok {
			case token.AND_ASSIGN, token.OR_ASSIGN, token.AND_NOT_ASSIGN, token.XOR_ASSIGN, token.SHL_ASSIGN, token.SHR_ASSIGN:
				return false
			}
			return true
		case *ast.KeyValueExpr:
			if p.Key == child {
				return false
			}
		case *ast.CaseClause:
			return false
		case *ast.BlockStmt:
			return true
		}
		child = x.stack[i]
	}
	return true
}

func (x *finder) isConstant(e ast.Expr) bool { return x.info.Types[e].Value != nil }

func (x *finder) isBool(e ast.Expr) bool {
	t := x.info.Types[e].Type
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// longest is how much of a change its name tells.
const longest = 160

// add notes a mutant and returns its number, 0 where it is none.
func (x *finder) add(n ast.Node, what string) int {
	if text := []rune(what); len(text) > longest {
		what = string(text[:longest]) + "..."
	}
	name := x.file.name + " " + x.function + ": " + what
	if x.names[name]++; x.names[name] > 1 {
		name = fmt.Sprintf("%s (%d)", name, x.names[name])
	}
	if x.refused[name] {
		return 0
	}
	p := x.s.fset.Position(n.Pos())
	x.all = append(x.all, Mutant{
		Number: len(x.all) + 1, Package: x.s.path, Name: name, At: fmt.Sprintf("%s:%d", p.Filename, p.Line), line: p.Line, file: x.file.name,
	})
	return len(x.all)
}

// levels is how many edits may be around one node.
const levels = 8

// around puts texts before and behind n, which stands that much below the node in work.
func (x *finder) around(n ast.Node, below int, before, behind string) {
	depth := levels * (len(x.stack) + below)
	// What is put around the same node later stands inside.
	for x.taken(x.offset(n.Pos()), depth) {
		depth++
	}
	x.put(edit{at: x.offset(n.Pos()), text: before, depth: depth})
	x.put(edit{at: x.offset(n.End()), text: behind, depth: depth, behind: true})
}

func (x *finder) taken(at, depth int) bool {
	for _, e := range x.edits[x.file.name] {
		if e.at == at && e.depth == depth && !e.behind {
			return true
		}
	}
	return false
}

func (x *finder) put(e edit) {
	if e.end == 0 {
		e.end = e.at
	}
	x.edits[x.file.name] = append(x.edits[x.file.name], e)
}

func (x *finder) offset(p token.Pos) int { return x.s.fset.Position(p).Offset }

// code is the text of a node on one line.
func (x *finder) code(n ast.Node) string {
	return strings.Join(strings.Fields(string(x.file.text[x.offset(n.Pos()):x.offset(n.End())])), " ")
}
