package picture

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

// DOT is the finding's graph in Graphviz's language: a node a transaction, and an arrow a dependency with its key. The proof is
// the arrow's tooltip. A line joins operations that cannot both be right. The same finding gives the same text.
func DOT(f finding.Finding) []byte {
	var b strings.Builder
	s := scene.New(&f)
	fmt.Fprintf(&b, "digraph %s {\n", quoted(f.Anomaly+" "+f.ID))
	fmt.Fprintf(&b, "  label=%s;\n  node [shape=box];\n", quoted(f.Title+" ("+f.Anomaly+")"))
	for i := range s.Members {
		if apart(s, i) {
			continue
		}
		m := &s.Members[i]
		label := quoted(nodeName(m))
		if m.Name != "" {
			label = label[:len(label)-1] + `\n` + quoted(m.Name)[1:]
		}
		fmt.Fprintf(&b, "  %s [label=%s];\n", quoted(nodeName(m)), label)
	}
	for i := range s.Arrows {
		a := &s.Arrows[i]
		style := "solid"
		if a.Type == "rw" {
			style = "dashed"
		}
		fmt.Fprintf(&b, "  %s -> %s [label=%s, style=%s, tooltip=%s", quoted(nodeName(&s.Members[a.From])), quoted(nodeName(&s.Members[a.To])), quoted(label(a.Edge)), style, quoted(a.Evidence))
		if a.Type == scene.Contradicts {
			b.WriteString(", dir=none")
		}
		b.WriteString("];\n")
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// nodeName tells two records of one transaction apart.
func nodeName(m *scene.Member) string {
	if m.Of == "" {
		return m.ID
	}
	return m.ID + " (" + m.Of + ")"
}

// quoted is a DOT string: only quotes and backslashes are special. Control and formatting characters are
// written out.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(finding.Visible(s)) + `"`
}
