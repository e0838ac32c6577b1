package mutate

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// texts are the files of the package with all edits made.
func (x *finder) texts() map[string][]byte {
	all := map[string][]byte{}
	for i := range x.s.files {
		f := &x.s.files[i]
		edits := slices.Clone(x.edits[f.name])
		slices.SortStableFunc(edits, inOrder)
		var out bytes.Buffer
		last := 0
		for _, e := range edits {
			out.Write(f.text[last:e.at])
			out.WriteString(e.text)
			last = e.end
		}
		out.Write(f.text[last:])
		all[f.name] = out.Bytes()
	}
	return all
}

// inOrder: at one place what closes comes first, from the inside out, and what opens then,
// from the outside in.
func inOrder(a, b edit) int {
	switch {
	case a.at != b.at:
		return cmp.Compare(a.at, b.at)
	case a.behind && b.behind:
		return cmp.Compare(b.depth, a.depth)
	case a.behind:
		return -1
	case b.behind:
		return 1
	}
	return cmp.Compare(a.depth, b.depth)
}

// refuse notes the mutants of lines that do not compile, and says whether there are any:
// mostly of a constant that is one too large for its type.
func (x *finder) refuse(texts map[string][]byte) (any bool, err error) {
	fset := token.NewFileSet()
	var trees []*ast.File
	for name, text := range texts {
		tree, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return false, fmt.Errorf("%s with its mutants: %w", x.s.path, err)
		}
		trees = append(trees, tree)
	}
	helpers, err := parser.ParseFile(fset, "mutants", "package "+x.s.name+"\n"+strings.Replace(helpers, "mutantNow", "0", 1), parser.SkipObjectResolution)
	if err != nil {
		return false, err
	}
	x.s.check(fset, append(trees, helpers), &types.Info{}, func(e types.Error) {
		p := fset.Position(e.Pos)
		var constants, others []string
		for _, m := range x.all {
			switch {
			case m.file != p.Filename || m.line != p.Line || x.refused[m.Name]:
			case strings.HasSuffix(m.Name, "one more"):
				constants = append(constants, m.Name)
			default:
				others = append(others, m.Name)
			}
		}
		if len(constants) == 0 {
			constants = others
		}
		for _, name := range constants {
			x.refused[name], any = true, true
		}
		if len(constants) == 0 && err == nil {
			err = fmt.Errorf("%s with its mutants: %w", x.s.path, e)
		}
	})
	return any, err
}

// helpers declare what mutants call. They need no import.
const helpers = `
type mutantOrdered interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64 | ~string
}

type mutantNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

var mutantReached []byte

func mutantIs(n int) bool {
	if mutantReached != nil {
		mutantReached[n] = 1
	}
	return n == mutantNow
}

func mutantLess[T mutantOrdered](n int, a, b T) bool { return a < b || a == b && mutantIs(n) }

func mutantMore[T mutantOrdered](n int, a, b T) bool { return a > b || a == b && mutantIs(n) }

func mutantAtMost[T mutantOrdered](n int, a, b T) bool { return a < b || a == b && !mutantIs(n) }

func mutantAtLeast[T mutantOrdered](n int, a, b T) bool { return a > b || a == b && !mutantIs(n) }

func mutantAdd[T mutantNumber](n int, a, b T) T {
	if mutantIs(n) {
		return a - b
	}
	return a + b
}

func mutantSub[T mutantNumber](n int, a, b T) T {
	if mutantIs(n) {
		return a + b
	}
	return a - b
}

func mutantMin[T mutantOrdered](n int, a, b T) T {
	if mutantIs(n) {
		return max(a, b)
	}
	return min(a, b)
}

func mutantMax[T mutantOrdered](n int, a, b T) T {
	if mutantIs(n) {
		return min(a, b)
	}
	return max(a, b)
}

func mutantPick[T any](n int, a, b T) T {
	if mutantIs(n) {
		return b
	}
	return a
}
`

// Names of the variables that tell a test binary which mutant it is, and where to note
// which ones it reaches: a byte for each.
const (
	mutantVar  = "ISOWATCH_MUTANT"
	reachedVar = "ISOWATCH_MUTANTS_REACHED"
)

// switchOf is the file with the helpers, and which mutant it is, for a package of this name.
func switchOf(name string) []byte {
	return []byte("package " + name + `

import (
	"os"
	"strconv"
	"syscall"
)

var mutantNow = mutantStart()

func mutantStart() int {
	if name := os.Getenv("` + reachedVar + `"); name != "" {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			panic(err)
		}
		info, err := f.Stat()
		if err != nil {
			panic(err)
		}
		mutantReached, err = syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
		if err != nil {
			panic(err)
		}
	}
	n, _ := strconv.Atoi(os.Getenv("` + mutantVar + `"))
	return n
}
` + helpers)
}
