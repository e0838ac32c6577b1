package flat

import (
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// move takes a field over from a value of another layout.
type move struct {
	from, to field
}

// readOther reads n values whose fields differ from T's. Fields that both have are taken over,
// and fields that only T has are zero. Fields that only the other layout has must be named as
// gone: without that tag, or the tag of a renamed field, it is [ErrOther].
func readOther[T any](r *Reader, name, fields string, n uint64, s *[]T) {
	size, theirs, err := parseFields(fields)
	if err != nil {
		r.Err = fmt.Errorf("section %q: %w", name, err)
		return
	}
	if n > uint64(len(r.Bytes))/uint64(size) {
		r.Err = ErrShort
		return
	}
	moves, err := movesTo(appendFields(nil, reflect.TypeFor[T](), "", 0, nil), theirs, goneFrom(reflect.TypeFor[T](), ""))
	if err != nil {
		r.Err = fmt.Errorf("section %q: %w", name, err)
		return
	}
	out := Make[T](int(n), int(n+n/4))
	for i := range out {
		to := unsafe.Slice((*byte)(unsafe.Pointer(&out[i])), unsafe.Sizeof(out[i]))
		if err := convert(to, r.Bytes[i*size:][:size], moves); err != nil {
			r.Err = fmt.Errorf("section %q, value %d: %w", name, i, err)
			return
		}
	}
	r.Bytes = r.Bytes[int(n)*size:]
	*s = out
}

// goneFrom are the fields that t, or a type within it, no longer has.
func goneFrom(t reflect.Type, name string) (gone []string) {
	switch t.Kind() {
	case reflect.Array:
		for i := range t.Len() {
			gone = append(gone, goneFrom(t.Elem(), under(name, strconv.Itoa(i)))...)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if left := f.Tag.Get("gone"); f.Name == "_" && left != "" {
				gone = append(gone, under(name, small(left)))
			}
			gone = append(gone, goneFrom(f.Type, under(name, small(f.Name)))...)
		}
	}
	return gone
}

// movesTo pairs the fields of two layouts by their names, or by those that they had.
func movesTo(mine, theirs []field, gone []string) (moves []move, err error) {
	taken := make([]bool, len(theirs))
	for _, to := range mine {
		at := slices.IndexFunc(theirs, func(f field) bool { return f.name == to.name })
		for _, was := range to.was {
			if at < 0 {
				at = slices.IndexFunc(theirs, func(f field) bool { return f.name == was })
			}
		}
		if at < 0 {
			continue
		}
		if from := theirs[at]; from.kind != to.kind || from.kind == 'f' && from.size != to.size {
			return nil, fmt.Errorf("%w: field %q was %c%d, and is %c%d", ErrOther, to.name, from.kind, from.size, to.kind, to.size)
		}
		taken[at] = true
		moves = append(moves, move{theirs[at], to})
	}
	for i, f := range theirs {
		if !taken[i] && !slices.ContainsFunc(gone, func(name string) bool { return f.name == name || strings.HasPrefix(f.name, name+".") }) {
			return nil, fmt.Errorf("%w: field %q is not known here", ErrOther, f.name)
		}
	}
	return moves, nil
}

// convert takes the fields of one value over. A number that the new field has no room for is an
// error; of a row that got shorter the last numbers are left out.
func convert(to, from []byte, moves []move) error {
	for i := range moves {
		m := &moves[i]
		for k := range min(m.from.count, m.to.count) {
			src := from[m.from.offset+k*m.from.size:][:m.from.size]
			dst := to[m.to.offset+k*m.to.size:][:m.to.size]
			if len(src) == len(dst) {
				copy(dst, src)
				continue
			}
			if x := number(src, m.from.kind == 'i'); !put(dst, x, m.from.kind == 'i') {
				return fmt.Errorf("%w: %d of field %q has no room in %d bytes", ErrOther, x, m.to.name, m.to.size)
			}
		}
	}
	return nil
}

// number is the integer in b, of the machine's byte order.
func number(b []byte, signed bool) (x uint64) {
	for i := range b {
		at := i
		if ByteOrder() == "little" {
			at = len(b) - 1 - i
		}
		x = x<<8 | uint64(b[at])
	}
	if shift := 64 - 8*len(b); signed {
		return uint64(int64(x<<shift) >> shift)
	}
	return x
}

// put writes x to b, and says whether it has room there.
func put(b []byte, x uint64, signed bool) bool {
	for i := range b {
		at := len(b) - 1 - i
		if ByteOrder() == "little" {
			at = i
		}
		b[at] = byte(x >> (8 * i))
	}
	if signed {
		return number(b, true) == x
	}
	return bits.Len64(x) <= 8*len(b)
}
