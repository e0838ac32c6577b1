package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

var (
	listItem   = regexp.MustCompile(`^\s+([-*]|\d+\.) `)
	directive  = regexp.MustCompile(`^(go:|line |nolint|lint:|\+build)`)
	identifier = regexp.MustCompile(`\[[*\w./]+\]|[\w.*]*(?:[a-z0-9][A-Z]|_)\w*(?:\(\))?|\b\w+\(\)|\b[\w.]+\.[A-Z]\w*`)
)

// GoComments are the texts of the comments in a Go file, one for each run of comment lines.
// Indented lines are code, and not in a text, unless they are items of a list. Names of the
// program become the word CODE: those with a capital or an underscore inside, links in
// brackets, and calls.
func GoComments(name string, file []byte) ([]Literal, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, file, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []Literal
	for _, group := range f.Comments {
		if text := groupText(group); strings.TrimSpace(text) != "" {
			all = append(all, Literal{fset.Position(group.Pos()).Line, text})
		}
	}
	return all, nil
}

// groupText is the prose of a run of comment lines, as a page.
func groupText(group *ast.CommentGroup) string {
	var text strings.Builder
	inItem := false
	for _, c := range group.List {
		line, isLine := strings.CutPrefix(c.Text, "//")
		if !isLine {
			line = strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/")
		}
		plain := strings.TrimPrefix(line, " ")
		switch {
		case directive.MatchString(line):
			continue
		case listItem.MatchString(line):
			inItem = true
			plain = strings.TrimSpace(line)
		case strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "  ") && !inItem: // code
			plain = ""
		case !strings.HasPrefix(line, "  "):
			inItem = false
		}
		text.WriteString(identifier.ReplaceAllString(plain, "CODE") + "\n")
	}
	return text.String()
}
