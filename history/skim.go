package history

// An invocation says what a transaction is going to do, and the completion says it again, with what it found. So
// of most invocations the value is of no use. It is passed over where it is plain: vectors of words and numbers.
// Where the completion has no value, or the operation did not succeed, it is read then.

// skim is the length of a value at r.i that may be read later, 0 if it is read now. Nothing in such a value is
// wrong: read does not fail on it.
func (r *nodeReader) skim() int {
	if !r.lazy || r.depth != 1 || !r.ofInvocation() {
		return 0
	}
	return skimmed(r.data[r.i:])
}

// skimmed is the length of the vector that text begins with, 0 if there is none, or it is not plain.
func skimmed(text []byte) int {
	if len(text) == 0 || text[0] != '[' {
		return 0
	}
	depth := 0
	for i, c := range text {
		switch {
		case c == '[':
			if depth++; depth > 8 {
				return 0
			}
		case c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case c-'0' <= 9, c-'a' <= 'z'-'a', c == ' ', c == ',', c == '-':
		case c != ':' || i+1 == len(text) || text[i+1]-'a' > 'z'-'a':
			return 0
		}
	}
	return 0
}

// ofInvocation says whether the value that is read now belongs to an invocation. The items of its map are
// all that is open.
func (r *nodeReader) ofInvocation() bool {
	n := len(r.stack)
	if n%2 == 0 || !r.stack[n-1].is("value") {
		return false
	}
	for i := 0; i+1 < n; i += 2 {
		if r.stack[i].is("type") {
			return r.stack[i+1].is("invoke")
		}
	}
	return false
}

// whole is n, read now if it was left for later.
func (r *nodeReader) whole(n node) (node, error) {
	if !n.later {
		return n, nil
	}
	if r.rest == nil {
		r.rest = &nodeReader{flat: r.flat}
	}
	r.rest.data, r.rest.i = n.text, 0
	return r.rest.read()
}
