package history

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// node is a value of EDN or JSON. EDN holds all of JSON except the colon behind a name. So one
// reader does for both.
type node struct {
	kind  nodeKind
	flat  bool   // a vector of integers without items: its text holds them, without the brackets
	later bool   // a vector whose items nobody has read, as its text: see skim.go
	at    int    // byte at which it begins
	text  []byte // of a number, a string or a word; a word's without its colon
	items []node // of a vector or a set; of a map, keys and values in turn
}

type nodeKind uint8

const (
	nothing nodeKind = iota // nil, null
	truth                   // true, false
	number                  // as written
	quoted                  // a string or a character
	word                    // a keyword or a symbol
	vector                  // also a list
	set
	mapping
)

// get is the value behind the name in a map. If the map lacks the name, it is the zero node.
func (n *node) get(name string) node {
	for i := 0; i+1 < len(n.items) && n.kind == mapping; i += 2 {
		if k := &n.items[i]; (k.kind == word || k.kind == quoted) && string(k.text) == name {
			return n.items[i+1]
		}
	}
	return node{at: n.at}
}

// is says whether n is the word or the string text.
func (n *node) is(text string) bool {
	return (n.kind == word || n.kind == quoted) && string(n.text) == text
}

// integer is n as an integer within 64 bits.
func (n *node) integer() (int64, bool) {
	if n.kind != number {
		return 0, false
	}
	i, used := leadingInteger(n.text)
	return i, used > 0 && used == len(n.text)
}

// nodeReader reads nodes from a text.
type nodeReader struct {
	data  []byte
	i     int
	json  bool   // ':' stands between names and values
	flat  bool   // vectors of at least flatLeast integers are read as flat ones
	lazy  bool   // the value of an invocation is read later: see skim.go
	depth int    // of vectors, sets and maps around i
	slab  []node // where the items of what was closed stand
	stack []node // items of what is open

	// plain, unless nil, takes the map at i of a file, and says whether it has.
	plain func() (taken bool, err error)

	pieces
}

const (
	maxNodeDepth = 200
	slabNodes    = 4096
	flatLeast    = 4 // pairs, and operations with a key and a value, have fewer
)

func (r *nodeReader) fail(at int, format string, args ...any) error {
	return atLine(r.lineOf(at), "%s", fmt.Sprintf(format, args...))
}

// lineOf is the line of a byte, from 1.
func (r *nodeReader) lineOf(at int) int64 {
	return r.lines + 1 + int64(bytes.Count(r.data[:min(at, len(r.data))], []byte{'\n'}))
}

// skip passes white space, commas, comments and discarded values.
func (r *nodeReader) skip() error {
	for r.i < len(r.data) {
		c := r.data[r.i]
		switch {
		case isSpace(c) || c == ',' || c == ':' && r.json:
			r.i++
		case c == ';':
			for r.i < len(r.data) && r.data[r.i] != '\n' {
				r.i++
			}
		case c == '#' && r.i+1 < len(r.data) && r.data[r.i+1] == '_':
			r.i += 2
			if r.depth++; r.depth > maxNodeDepth {
				return r.fail(r.i, "nested too deeply")
			}
			_, err := r.read()
			r.depth--
			if err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// each calls fn for every map of the file: one behind the other, or in a vector.
func (r *nodeReader) each(fn func(*node) error) error {
	if err := r.readOn(0); err != nil {
		return err
	}
	if len(r.data) >= 3 && string(r.data[:3]) == "\xef\xbb\xbf" {
		r.i = 3
	}
	end := byte(0)
	for first := true; ; {
		from := r.i
		if err := r.skip(); r.in != nil && (err != nil || r.i == len(r.data)) {
			if err := r.readOn(from); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return err
		}
		switch {
		case r.i == len(r.data) && end != 0:
			return r.fail(r.i, "the file ends before %q", end)
		case r.i == len(r.data):
			return nil
		case first && r.data[r.i] == '[':
			end, first = ']', false
			r.i++
			continue
		case first && r.data[r.i] == '(':
			end, first = ')', false
			r.i++
			continue
		case end != 0 && r.data[r.i] == end:
			end = 0
			r.i++
			continue
		}
		first = false
		if r.plain != nil {
			taken, err := r.plain()
			if err != nil {
				return err
			}
			if taken {
				continue
			}
		}
		m, err := r.read()
		if r.in != nil && (err != nil || m.kind != mapping) { // it may go on behind the piece
			if err := r.readOn(from); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		r.held = true
		if m.kind != mapping {
			return r.fail(m.at, "a map is expected")
		}
		if err := fn(&m); err != nil {
			return err
		}
	}
}

// read reads the next value.
func (r *nodeReader) read() (node, error) {
	if err := r.skip(); err != nil {
		return node{}, err
	}
	if r.i == len(r.data) {
		return node{}, r.fail(r.i, "the file ends where a value is expected")
	}
	return r.value()
}

// value reads the value that begins at r.i.
func (r *nodeReader) value() (node, error) {
	at := r.i
	switch c := r.data[r.i]; c {
	case '{':
		n, err := r.items(mapping, '}', 1)
		if err == nil && len(n.items)%2 != 0 {
			err = r.fail(at, "a map with a name and no value")
		}
		return n, err
	case '[':
		if n := r.skim(); n > 0 {
			r.i += n
			return node{kind: vector, at: at, later: true, text: r.data[at:r.i]}, nil
		}
		if n := r.integers(); n > 0 {
			r.i += n + 2
			return node{kind: vector, at: at, flat: true, text: r.data[at+1 : at+1+n]}, nil
		}
		return r.items(vector, ']', 1)
	case '(':
		return r.items(vector, ')', 1)
	case '"':
		return r.string()
	case '\\':
		return r.character()
	case '#':
		return r.tagged()
	case '}', ']', ')':
		return node{}, r.fail(at, "%q where a value is expected", c)
	}
	return r.atom()
}

// isPlain says of a byte that a value begins with it, or that it ends a collection. skip stops there.
var isPlain = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c > ' ' && !isSpace(byte(c)) && c != ',' && c != ':' && c != ';' && c != '#'
	}
	return plain
}()

// items reads a collection whose opening takes n bytes.
func (r *nodeReader) items(kind nodeKind, end byte, n int) (node, error) {
	out := node{kind: kind, at: r.i}
	r.i += n
	if r.depth++; r.depth > maxNodeDepth {
		return out, r.fail(out.at, "nested too deeply")
	}
	first := len(r.stack)
	for {
		if r.i < len(r.data) && r.data[r.i] == ' ' {
			r.i++
		}
		if r.i == len(r.data) || !isPlain[r.data[r.i]] && (r.json || r.data[r.i] != ':') {
			if err := r.skip(); err != nil {
				return out, err
			}
		}
		if r.i == len(r.data) {
			return out, r.fail(out.at, "%q is never closed", r.data[out.at:out.at+n])
		}
		if r.data[r.i] == end {
			r.i++
			break
		}
		item, err := r.value()
		if err != nil {
			return out, err
		}
		r.stack = append(r.stack, item)
	}
	if n := len(r.stack) - first; len(r.slab)+n > cap(r.slab) {
		r.slab = make([]node, 0, max(n, slabNodes)) // the old one goes with what names it
	}
	from := len(r.slab)
	r.slab = append(r.slab, r.stack[first:]...)
	out.items = r.slab[from:len(r.slab):len(r.slab)]
	r.stack = r.stack[:first]
	r.depth--
	return out, nil
}

// integers is the length of the text in the vector at r.i, and 0 if that is to be read item by item. Reads of
// lists are most of a history. An item of a node takes many times the bytes of its text.
func (r *nodeReader) integers() int {
	if !r.flat {
		return 0
	}
	text := r.data[r.i+1:]
	n, before := 0, byte(' ')
	for i, c := range text {
		switch {
		case c-'0' <= 9:
			if before == ' ' || before == '-' {
				n++
				if c == '0' && i+1 < len(text) && text[i+1]-'0' <= 9 {
					return 0 // no number of JSON
				}
			}
			before = c
		case c == ' ' || c == ',':
			if before == '-' {
				return 0
			}
			before = ' '
		case c == '-' && before == ' ':
			before = c
		case c == ']' && before != '-' && n >= flatLeast:
			return i
		default:
			return 0
		}
	}
	return 0
}

// tagged reads a set, or a value behind a tag that says nothing here.
func (r *nodeReader) tagged() (node, error) {
	at := r.i
	if r.i+1 < len(r.data) && r.data[r.i+1] == '{' {
		return r.items(set, '}', 2)
	}
	for r.i < len(r.data) && !isSpace(r.data[r.i]) && !isBracket(r.data[r.i]) && r.data[r.i] != '"' {
		r.i++
	}
	if r.depth++; r.depth > maxNodeDepth {
		return node{}, r.fail(at, "nested too deeply")
	}
	n, err := r.read()
	r.depth--
	return n, err
}

// string reads a string and resolves its escapes.
func (r *nodeReader) string() (node, error) {
	at := r.i
	from := r.i + 1
	for r.i = from; r.i < len(r.data); r.i++ {
		switch r.data[r.i] {
		case '"':
			r.i++
			return node{kind: quoted, at: at, text: r.data[from : r.i-1]}, nil
		case '\\':
			return r.escaped(at, append([]byte(nil), r.data[from:r.i]...))
		}
	}
	return node{}, r.fail(at, "a string is never closed")
}

func (r *nodeReader) escaped(at int, text []byte) (node, error) {
	for r.i < len(r.data) {
		c := r.data[r.i]
		r.i++
		switch c {
		case '"':
			return node{kind: quoted, at: at, text: text}, nil
		case '\\':
			if r.i == len(r.data) {
				continue
			}
			c = r.data[r.i]
			r.i++
			text = r.escape(text, c)
		default:
			text = append(text, c)
		}
	}
	return node{}, r.fail(at, "a string is never closed")
}

// escape appends what a backslash and c stand for.
func (r *nodeReader) escape(text []byte, c byte) []byte {
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'u':
		code := rune(0)
		for end := min(r.i+4, len(r.data)); r.i < end; r.i++ {
			d, ok := hexDigit(r.data[r.i])
			if !ok {
				break
			}
			code = code<<4 | d
		}
		return utf8.AppendRune(text, code)
	}
	return append(text, c)
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case c-'0' <= 9:
		return rune(c - '0'), true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10, true
	}
	return 0, false
}

// character reads a character such as \a or \newline as the string of its name.
func (r *nodeReader) character() (node, error) {
	at := r.i
	r.i++
	from := r.i
	if r.i < len(r.data) {
		r.i++ // also a bracket
	}
	for r.i < len(r.data) && !isDelimiter(r.data[r.i]) {
		r.i++
	}
	if r.i == from {
		return node{}, r.fail(at, "a character is expected")
	}
	return node{kind: quoted, at: at, text: r.data[from:r.i]}, nil
}

func isBracket(c byte) bool {
	return c == '{' || c == '}' || c == '[' || c == ']' || c == '(' || c == ')'
}

func isDelimiter(c byte) bool { return isSpace(c) || isBracket(c) || c == ',' || c == '"' || c == ';' }

// atom reads a number, a word, nil or a truth value.
func (r *nodeReader) atom() (node, error) {
	from := r.i
	for r.i < len(r.data) && !isDelimiter(r.data[r.i]) && (!r.json || r.data[r.i] != ':') {
		r.i++
	}
	text := r.data[from:r.i]
	switch c := text[0]; {
	case c == ':':
		if len(text) == 1 {
			return node{}, r.fail(from, "a keyword without a name")
		}
		return node{kind: word, at: from, text: text[1:]}, nil
	case c-'0' <= 9, len(text) > 1 && (c == '-' || c == '+') && text[1]-'0' <= 9:
		return numberNode(text, from), nil
	}
	switch string(text) {
	case "nil", "null":
		return node{at: from}, nil
	case "true", "false":
		return node{kind: truth, at: from, text: text}, nil
	}
	return node{kind: word, at: from, text: text}, nil
}

// numberNode is a number in the form of JSON, or, where it has none (a ratio, a
// base), the string of it.
func numberNode(text []byte, at int) node {
	n := node{kind: number, at: at, text: text}
	if text[0] == '+' {
		n.text = text[1:]
	}
	if last := len(n.text) - 1; n.text[last] == 'N' || n.text[last] == 'M' {
		n.text = n.text[:last]
	}
	if !isJSONNumber(n.text) {
		n.kind, n.text = quoted, text
	}
	return n
}

func isJSONNumber(text []byte) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(text) && text[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if len(text) > 0 && text[0] == '-' {
		i++
	}
	first := i
	if !digits() || text[first] == '0' && i > first+1 {
		return false
	}
	if i < len(text) && text[i] == '.' {
		if i++; !digits() {
			return false
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(text)
}

// appendJSON appends n as JSON. A set is an array; a name is a string.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case nothing:
		return append(dst, "null"...)
	case truth, number:
		return append(dst, n.text...)
	case quoted, word:
		return appendString(dst, n.text)
	case mapping:
		dst = append(dst, '{')
		for i := 0; i+1 < len(n.items); i += 2 {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, n.items[i].name())
			dst = append(dst, ':')
			dst = n.items[i+1].appendJSON(dst)
		}
		return append(dst, '}')
	}
	dst = append(dst, '[')
	if n.flat {
		dst = appendFlat(dst, n.text)
	}
	for i := range n.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = n.items[i].appendJSON(dst)
	}
	return append(dst, ']')
}

// appendFlat appends the items of a flat vector, with a comma between two.
func appendFlat(dst, text []byte) []byte {
	first, within := true, false
	for _, c := range text {
		if c == ' ' || c == ',' {
			within = false
			continue
		}
		if !within && !first {
			dst = append(dst, ',')
		}
		first, within = false, true
		dst = append(dst, c)
	}
	return dst
}

// name is n as the name of a key: the text of a number, a string or a word, or else the JSON of
// n.
func (n *node) name() []byte {
	switch n.kind {
	case number, quoted, word, truth:
		return n.text
	}
	return n.appendJSON(nil)
}

// appendString appends text as a JSON string.
func appendString(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
