package config

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/isowatch/isowatch/internal/isolation"
)

// MaxFile bounds a configuration file, in bytes.
const MaxFile = 1 << 20

// Parse reads the YAML of a service, over its defaults. name is the name of the file,
// for faults. All faults are listed, each with its line. overlay, unless nil, changes
// what sources begin with: it stands above watch in the file, and below what is said
// of the source itself.
func Parse(name string, text []byte, overlay func(*Watch)) (Service, error) {
	s := DefaultService()
	s.overlay = overlay
	r := reader{name: name, lines: map[string]int{}}
	if root := r.document(text); root != nil {
		r.tree(root, "", &s)
	}
	unread := r.faults
	for _, f := range Faults(s.Validate()) {
		if !broken(unread, f.Path) {
			r.faults = append(r.faults, &Fault{f.Path, f.Text, name, r.line(f.Path)})
		}
	}
	s.overlay = nil
	slices.SortStableFunc(r.faults, func(a, b error) int { return a.(*Fault).Line - b.(*Fault).Line })
	return s, r.faults.err()
}

// reader puts YAML into trees.
type reader struct {
	name   string
	faults faults
	lines  map[string]int // of paths
}

func (r *reader) fault(path string, n *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, &Fault{path, fmt.Sprintf(format, args...), r.name, n.Line})
}

// broken says whether a value at the path, in it or around it was not taken. Faults of the
// rest may follow from that.
func broken(unread faults, path string) bool {
	within := func(a, b string) bool {
		return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(a, b+"[")
	}
	return slices.ContainsFunc(unread, func(err error) bool {
		p := err.(*Fault).Path
		return p != "" && (within(p, path) || within(path, p))
	})
}

// line of a path, or of what holds it.
func (r *reader) line(path string) int {
	for ; path != ""; path = parent(path) {
		if n, ok := r.lines[path]; ok {
			return n
		}
	}
	return 0
}

// document is the one document of text; nil: it holds nothing, or is none.
func (r *reader) document(text []byte) *yaml.Node {
	if len(text) > MaxFile {
		r.faults = append(r.faults, &Fault{Text: fmt.Sprintf("longer than %d bytes", MaxFile), Name: r.name})
		return nil
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		r.faults = append(r.faults, syntaxFault(r.name, err))
		return nil
	}
	if err := d.Decode(&more); err == nil {
		r.fault("", &more, "a second document: want one")
	} else if !errors.Is(err, io.EOF) {
		r.faults = append(r.faults, syntaxFault(r.name, err))
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || isNull(doc.Content[0]) {
		return nil
	}
	return doc.Content[0]
}

// syntaxFault is err of the YAML library, "yaml: line 3: ...", as ours.
func syntaxFault(name string, err error) *Fault {
	what, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if rest, ok := strings.CutPrefix(what, "line "); ok {
		if _, err := fmt.Sscanf(rest, "%d:", &line); err == nil {
			_, what, _ = strings.Cut(rest, ": ")
		}
	}
	if strings.Contains(what, "cannot start any token") {
		what += ": is it a tab? A line may be indented by spaces only"
	}
	return &Fault{Text: "not YAML: " + what, Name: name, Line: line}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// tree reads the keys of a part.
func (r *reader) tree(n *yaml.Node, path string, t tree) {
	if n.Kind != yaml.MappingNode {
		r.fault(path, n, "%swant keys with values%s", prefix(path), got(n))
		return
	}
	fields := t.fields()
	seen := map[string]bool{}
	for _, f := range fields { // in our order: sources begin as what watch says
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i]; key.Kind == yaml.ScalarNode && key.Value == f.key && !seen[f.key] {
				seen[f.key] = true
				r.lines[join(path, f.key)] = key.Line
				r.value(n.Content[i+1], join(path, f.key), f.to)
			}
		}
	}
	met := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key := n.Content[i]; {
		case key.Kind != yaml.ScalarNode || !seen[key.Value]:
			r.fault("", key, "%sno key is called %q; %s", prefix(path), key.Value, isolation.Offer(key.Value, keys(fields)))
		case met[key.Value]:
			r.fault("", key, "%s%s is given twice", prefix(path), key.Value)
		default:
			met[key.Value] = true
		}
	}
}

func keys(fields []field) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.key)
	}
	return names
}

func prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

func got(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		return ", not a single value"
	case yaml.SequenceNode:
		return ", not a list"
	case yaml.MappingNode:
		return ", not keys with values"
	case yaml.AliasNode:
		return ", not an alias"
	}
	return ""
}

func (r *reader) value(n *yaml.Node, path string, to any) {
	if isNull(n) {
		if _, ok := to.(leaf); ok {
			r.fault(path, n, "%s: it has no value", path)
		}
		return
	}
	switch to := to.(type) {
	case leaf:
		if l, ok := to.(levelsLeaf); ok && n.Kind == yaml.SequenceNode {
			r.levels(n, path, l)
			return
		}
		if n.Kind != yaml.ScalarNode {
			r.fault(path, n, "%s: want a single value%s", path, got(n))
		} else if err := to.set(n.Value); err != nil {
			r.fault(path, n, "%s: %v", path, err)
		}
	case listing:
		*to.to = r.texts(n, path)
	case tree:
		r.tree(n, path, to)
	case option:
		r.tree(n, path, to.begin())
	case many:
		if n.Kind != yaml.SequenceNode {
			r.fault(path, n, "%s: want a list%s", path, got(n))
			return
		}
		for i, x := range n.Content {
			r.lines[at(path, i)] = x.Line
			r.tree(x, at(path, i), to.begin())
		}
	}
}

// texts are the texts of a list, or the one that stands alone.
func (r *reader) texts(n *yaml.Node, path string) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	if n.Kind != yaml.SequenceNode {
		r.fault(path, n, "%s: want a list%s", path, got(n))
		return nil
	}
	var all []string
	for i, x := range n.Content {
		r.lines[at(path, i)] = x.Line
		if x.Kind != yaml.ScalarNode || isNull(x) {
			r.fault(at(path, i), x, "%s: want a single value%s", at(path, i), got(x))
			continue
		}
		all = append(all, x.Value)
	}
	return all
}

func (r *reader) levels(n *yaml.Node, path string, l levelsLeaf) {
	before := len(r.faults)
	names := r.texts(n, path)
	if len(r.faults) > before {
		return
	}
	if err := l.set(strings.Join(names, ",")); err != nil {
		r.fault(path, n, "%s: %v", path, err)
	}
}
