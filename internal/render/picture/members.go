package picture

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/isowatch/isowatch/finding"
)

// The most that a box shows; the rest is counted in words.
const (
	maxNodes = 16
	maxOps   = 7
	maxChars = 30 // of a line
)

// node is a transaction in the picture.
type node struct {
	id    string // "" for the box that stands for those not drawn
	name  string // as the explanation calls it
	about []string
	ops   []op
	at    point // centre
	w, h  float64
}

type op struct {
	text     string
	involved bool // names the key of one of the transaction's edges
}

// members are the finding's transactions, with what the explanation says of
// them in its "Let:" lines.
func members(f *finding.Finding) []node {
	described := letLines(f.Explanation)
	var nodes []node
	for i, id := range f.Txns {
		if slices.ContainsFunc(nodes, func(n node) bool { return n.id == id }) {
			continue
		}
		n := node{id: id, name: clip(id)}
		if len(described) >= len(f.Txns) {
			n.describe(described[i], keysOf(f, id))
		}
		if level := f.Levels[id]; level != "" {
			n.about = append(n.about, clip(level))
		}
		nodes = append(nodes, n)
	}
	for _, e := range f.Edges { // a member that the list of transactions leaves out
		for _, id := range []string{e.From, e.To} {
			if !slices.ContainsFunc(nodes, func(n node) bool { return n.id == id }) {
				nodes = append(nodes, node{id: id, name: clip(id)})
			}
		}
	}
	if hidden := len(nodes) - maxNodes + 1; hidden > 1 {
		nodes = append(nodes[:maxNodes-1], node{name: "and " + plural(hidden, "transaction") + " more"})
	}
	return nodes
}

// letLines are the definitions between "Let:" and the next empty line.
func letLines(explanation string) []string {
	_, rest, ok := strings.Cut("\n"+explanation, "\nLet:\n")
	if !ok {
		return nil
	}
	lines, _, _ := strings.Cut(rest, "\n\n")
	return strings.Split(lines, "\n")
}

func keysOf(f *finding.Finding, id string) (keys []string) {
	for _, e := range f.Edges {
		if e.From == id || e.To == id {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

const verbs = `(?:r|w|append|add|remove|inc|cas|insert|delete|range) `

var (
	aboutAndOps = regexp.MustCompile(`^(.*?): (` + verbs + `.*)$`)
	andMore     = regexp.MustCompile(`^(.*) and (\d+ more operations)$`)
	nextOp      = regexp.MustCompile(`, ` + verbs)
)

// describe reads a line "NAME = ABOUT, ABOUT: OP, OP and 3 more operations". Keys and values
// come as they are, so a line can be read wrongly. That costs a misplaced line break in a box,
// never a wrong edge.
func (n *node) describe(line string, keys []string) {
	name, rest, ok := strings.Cut(strings.TrimSpace(line), " = ")
	if !ok {
		return
	}
	n.name = clip(name)
	about, ops := "", rest
	if m := aboutAndOps.FindStringSubmatch(rest); m != nil {
		about, ops = m[1], m[2]
	}
	for part := range strings.SplitSeq(about, ", ") {
		if part != "" {
			n.about = append(n.about, clip(part))
		}
	}
	for _, text := range splitOps(ops) {
		n.ops = append(n.ops, op{clip(text), slices.Contains(keys, keyOf(text))})
	}
	if extra := len(n.ops) - maxOps; extra > 1 {
		n.ops = append(keepInvolved(n.ops, maxOps-1), op{text: "… " + plural(extra+1, "operation") + " more"})
	}
}

// keepInvolved keeps n of the operations in their order, those that matter
// first.
func keepInvolved(ops []op, n int) (kept []op) {
	involved := 0
	for _, o := range ops {
		if o.involved {
			involved++
		}
	}
	others := n - min(involved, n)
	for _, o := range ops {
		switch {
		case len(kept) == n:
		case o.involved:
			kept = append(kept, o)
		case others > 0:
			kept = append(kept, o)
			others--
		}
	}
	return kept
}

// splitOps cuts "r x 1, w y [1, 2] and 3 more operations" where a verb follows.
func splitOps(text string) (ops []string) {
	more := ""
	if m := andMore.FindStringSubmatch(text); m != nil {
		text, more = m[1], "… "+m[2]
	}
	start := 0
	for _, cut := range nextOp.FindAllStringIndex(text, -1) {
		ops = append(ops, text[start:cut[0]])
		start = cut[0] + 2
	}
	if text[start:] != "" {
		ops = append(ops, text[start:])
	}
	if more != "" {
		ops = append(ops, more)
	}
	return ops
}

func keyOf(op string) string {
	_, rest, _ := strings.Cut(op, " ")
	key, _, _ := strings.Cut(rest, " ")
	return key
}

// clip shortens a line in its middle: ids and keys differ at both ends.
func clip(text string) string {
	runes := []rune(text)
	if len(runes) <= maxChars {
		return text
	}
	return string(runes[:maxChars/2]) + "…" + string(runes[len(runes)-maxChars/2+1:])
}

// columns is the width of text in a fixed-width font; East Asian wide characters
// take two.
func columns(text string) (n int) {
	for _, r := range text {
		n++
		if unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) || r >= 0x1f300 && r < 0x20000 {
			n++
		}
	}
	return n
}
