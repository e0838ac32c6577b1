package picture

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// DOT is the finding's cycle in Graphviz's language: a node a transaction, and an arrow a
// dependency with its key. The proof is the arrow's tooltip. The same finding gives the same
// text.
func DOT(f finding.Finding) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", quoted(f.Anomaly+" "+f.ID))
	fmt.Fprintf(&b, "  label=%s;\n  node [shape=box];\n", quoted(f.Title+" ("+f.Anomaly+")"))
	for _, id := range f.Txns {
		label := quoted(id)
		if name := f.Names[id]; name != "" {
			label = label[:len(label)-1] + `\n` + quoted(name)[1:]
		}
		fmt.Fprintf(&b, "  %s [label=%s];\n", quoted(id), label)
	}
	for _, e := range f.Edges {
		label, style := typeOf(e), "solid"
		if e.Key != "" {
			label += " " + finding.OneWord(e.Key)
		}
		if e.Type == "rw" {
			style = "dashed"
		}
		fmt.Fprintf(&b, "  %s -> %s [label=%s, style=%s, tooltip=%s];\n", quoted(e.From), quoted(e.To), quoted(label), style, quoted(e.Evidence))
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// quoted is a DOT string: only quotes and backslashes are special. Control and formatting characters are
// written out.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(finding.Visible(s)) + `"`
}
