package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
)

// Literal is a text in a Go file.
type Literal struct {
	Line int
	Text string
}

var (
	verb     = regexp.MustCompile(`%[-+# 0]*[\d.*]*(\[\d+\])?[a-zA-Z]`)
	noProse  = regexp.MustCompile(`^\s*(txn \d|default-src|SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|SET|BEGIN|MERGE|WITH|REPLACE|GRANT|LOCK|PRAGMA)\b`)
	indented = regexp.MustCompile(`(?m)^[ \t]+.*$`)
)

// leastWords is how many words a text has that is taken for a sentence, and not for a name.
const leastWords = 4

// Literals are the texts in a Go file that read like sentences: errors, messages, help. Texts
// that are put together with + are one; what is put between, and verbs of fmt, become CODE.
func Literals(name string, file []byte) ([]Literal, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, file, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []Literal
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BinaryExpr:
			if text, ok := joined(n); ok {
				all = appendSentence(all, fset.Position(n.Pos()).Line, text)
				return false
			}
		case *ast.BasicLit:
			if text, ok := joined(n); ok {
				all = appendSentence(all, fset.Position(n.Pos()).Line, text)
			}
		}
		return true
	})
	return all, nil
}

// joined is the text of a literal, or of a sum with a literal in it.
func joined(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "CODE", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return joined(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left, isLeft := joined(e.X)
			right, isRight := joined(e.Y)
			return left + right, isLeft || isRight
		}
	}
	return "CODE", false
}

func appendSentence(all []Literal, line int, text string) []Literal {
	text = verb.ReplaceAllString(text, "CODE")
	if words(text) < leastWords || noProse.MatchString(text) {
		return all
	}
	return append(all, Literal{line, Help(text)})
}

// Help is a help text with its indented lines as paragraphs of their own.
func Help(text string) string {
	return indented.ReplaceAllString(text, "\n\n$0\n\n")
}
