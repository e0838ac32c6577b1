package pattern

import "github.com/isowatch/isowatch/internal/flat"

// stored is a node without its text.
type stored struct {
	parent, texts       uint32
	merged, gone, named bool
	_                   bool
	pattern             ID
	length              uint16
}

// AppendState writes the table to dst.
func (t *Table) AppendState(dst *flat.Writer) *flat.Writer {
	dst = flat.Append(dst, "patterns", t.all)
	nodes, texts := make([]stored, len(t.nodes)), []byte(nil)
	for i := range t.nodes {
		x := &t.nodes[i]
		text := x.text[:min(len(x.text), 1<<16-1)]
		nodes[i] = stored{parent: x.parent, texts: x.texts, merged: x.merged, gone: x.gone, named: x.named, pattern: x.pattern, length: uint16(len(text))}
		texts = append(texts, text...)
	}
	return flat.Append(flat.Append(dst, "nodes", nodes), "texts", texts)
}

// ReadState replaces the table by what AppendState wrote.
func (t *Table) ReadState(r *flat.Reader) {
	var nodes []stored
	var texts []byte
	flat.Read(r, "patterns", &t.all)
	flat.Read(r, "nodes", &nodes)
	flat.Read(r, "texts", &texts)
	t.nodes, t.child = make([]node, len(nodes)), map[place]uint32{}
	for i, x := range nodes {
		if int(x.length) > len(texts) || int(x.parent) >= len(nodes) || int(x.pattern) >= len(t.all) {
			r.Err = flat.ErrShort
			break
		}
		t.nodes[i] = node{x.parent, x.texts, x.merged, x.gone, x.named, x.pattern, string(texts[:x.length])}
		texts = texts[x.length:]
	}
	if len(t.all) == 0 || len(nodes) == 0 {
		if r.Err == nil {
			r.Err = flat.ErrShort
		}
		*t = *New()
	}
	if r.Err != nil {
		return
	}
	for i := 1; i < len(t.nodes); i++ {
		if x := &t.nodes[i]; !x.gone {
			text := x.text
			if t.nodes[x.parent].merged {
				text = anyText
			}
			t.child[place{x.parent, text}] = uint32(i)
		}
	}
}
