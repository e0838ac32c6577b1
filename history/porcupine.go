package history

import (
	"bytes"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// Porcupine's logs. The logs of Jepsen's etcd test have a register each:
//
//	INFO  jepsen.util - 0	:invoke	:cas	[1 2]
//
// with :fail of a cas where the value was another one, which counts as seen, and :timed-out in
// place of a value. The second kind are maps as in EDN, with :key, for a store of texts. There
// put replaces a text, append adds to its end, and get returns it. A text is the list of the
// pieces that it is made of; put writes a list of one.

var jepsenUtil = []byte("jepsen.util - ")

func (r *Reader) readPorcupine(data []byte) error {
	e := newElleReader(r, data)
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("INFO")) {
		if err := e.nodes.each(e.operation); err != nil {
			return err
		}
		return e.finish()
	}
	s := textScanner{data: data}
	for s.next() {
		at := bytes.Index(s.cur, jepsenUtil)
		if at < 0 {
			continue // what the test said beside
		}
		e.line = int(s.line)
		if err := e.logLine(s.cur, at+len(jepsenUtil)); err != nil {
			return err
		}
	}
	return e.finish()
}

// logLine reads process, type, f and value of a line, from there.
func (e *elleReader) logLine(line []byte, from int) error {
	text := line[from:]
	n := nodeReader{data: text}
	var parts [4]node
	for i := range parts {
		if err := n.skip(); err != nil || n.i == len(text) && i == 3 {
			break
		}
		p, err := n.read()
		if err != nil {
			return atLine(int64(e.line), "a process, a type, an operation and a value are expected")
		}
		parts[i] = p
	}
	if parts[0].kind != number {
		return nil
	}
	s := elleStep{process: parts[0].text, typ: parts[1], f: parts[2], value: parts[3], text: line}
	if s.value.is("timed-out") {
		s.value = node{}
	}
	e.ordinal++
	e.time++
	if err := e.step(&s); err != nil {
		return err
	}
	if len(e.waiting) == 0 {
		return nil
	}
	o := e.waiting[len(e.waiting)-1]
	if o.outcome == 0 {
		return atLine(int64(e.line), "the type is not one of :invoke, :ok, :fail, :info")
	}
	if o.outcome == event.Aborted && o.f.is("cas") && o.completed.kind == vector {
		o.outcome, o.refused = event.Committed, true
	}
	return nil
}

// texts emits the operations on a store of texts.
func (e *elleEmitter) texts(ops []*elleOp) error {
	pieces := map[string]*textPieces{}
	for _, o := range ops {
		if o.f.is("get") {
			continue
		}
		key := string(o.key.name())
		if pieces[key] == nil {
			pieces[key] = &textPieces{known: map[string]bool{}}
		}
		pieces[key].add(o.value().text)
	}
	e.put = func(o *elleOp) error {
		switch {
		case o.f.is("append"):
			e.operation("append", &o.key)
			e.field("value", o.value())
		case o.f.is("put"):
			e.operation("w", &o.key)
			e.field("value", &node{kind: vector, items: []node{*o.value()}})
		case !answered(o):
			return nil
		default:
			e.operation("r", &o.key)
			e.buf = append(e.buf, `,"kind":"list"`...)
			e.field("value", pieces[string(o.key.name())].split(&o.completed))
		}
		e.buf = append(e.buf, '}')
		return nil
	}
	return nil
}

// textPieces are the pieces that a text can be made of.
type textPieces struct {
	known   map[string]bool
	lengths []int // of pieces, longest first
}

func (p *textPieces) add(text []byte) {
	if len(text) == 0 {
		return
	}
	p.known[string(text)] = true
	at, found := slices.BinarySearchFunc(p.lengths, len(text), func(a, b int) int { return b - a })
	if !found {
		p.lengths = slices.Insert(p.lengths, at, len(text))
	}
}

// split cuts a text into its pieces, the longest that fits first; where none fits
// the rest is one.
func (p *textPieces) split(text *node) *node {
	out := &node{kind: vector}
	rest := text.text
next:
	for len(rest) > 0 {
		if p != nil {
			for _, n := range p.lengths {
				if n <= len(rest) && p.known[string(rest[:n])] {
					out.items = append(out.items, node{kind: quoted, text: rest[:n]})
					rest = rest[n:]
					continue next
				}
			}
		}
		out.items = append(out.items, node{kind: quoted, text: rest})
		break
	}
	return out
}
