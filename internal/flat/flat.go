// Package flat writes slices of fixed-size values to bytes and reads them back by copying their
// memory. So a snapshot of a million live transactions is a matter of memory bandwidth.
//
// It writes a row of sections. A section has a name, the fields of its values, and their
// memory:
//
//	name    uvarint length, text
//	fields  uvarint length, text ([fieldsOf])
//	count   uvarint
//	memory  count times the size of a value, in the byte order of the machine
//
// Sections are read in the order in which they were written, and the name must be the one asked
// for. Where the fields are the same as in the program that reads, the memory is copied. Where
// a field has moved, changed its size, come or gone, values are taken over field by field
// ([convert]).
package flat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

// ErrShort is returned for bytes that end before the value does, or that no state can have.
var ErrShort = errors.New("flat: input ends early")

// Out takes sections. The zero Out keeps all of them in Bytes.
type Out struct {
	Bytes []byte
	// Write, unless nil, is given what has come, in pieces of at most PieceBytes. They are valid until it returns.
	// The last one is left in Bytes.
	Write func(piece []byte)
}

// PieceBytes is the size of a piece.
const PieceBytes = 256 << 10

// put appends b, which is zeroed between the fields of values of the size, if there are gaps.
func (o *Out) put(b []byte, size int, gaps []gap) {
	for len(b) > 0 {
		n := len(b)
		if o.Write != nil {
			if len(o.Bytes) > PieceBytes-size {
				o.Write(o.Bytes)
				o.Bytes = o.Bytes[:0]
			}
			n = min(n, max((PieceBytes-len(o.Bytes))/size*size, size))
		}
		from := len(o.Bytes)
		o.Bytes = append(o.Bytes, b[:n]...)
		for _, g := range gaps {
			for at := from; at < len(o.Bytes); at += size {
				clear(o.Bytes[at+g.from : at+g.to])
			}
		}
		b = b[n:]
	}
}

func (o *Out) head(name, fields string, count int) {
	if o.Write != nil && len(o.Bytes) > PieceBytes/2 {
		o.Write(o.Bytes)
		o.Bytes = o.Bytes[:0]
	}
	o.Bytes = binary.AppendUvarint(appendText(appendText(o.Bytes, name), fields), uint64(count))
}

// Append writes a section with the values of s to dst, and returns dst. T must hold no pointers. Equal values are equal
// bytes: what is between the fields of a value is written as zeros.
func Append[T any](dst *Out, name string, s []T) *Out {
	fields, gaps := fieldsOf[T]()
	dst.head(name, fields, len(s))
	if len(s) > 0 {
		size := int(unsafe.Sizeof(s[0]))
		dst.put(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), size*len(s)), size, gaps)
	}
	return dst
}

// AppendParts is Append for the values of all parts, one part behind the other. T has no gaps.
func AppendParts[T any](dst *Out, name string, parts [][]T) *Out {
	n := 0
	for _, s := range parts {
		n += len(s)
	}
	fields, _ := fieldsOf[T]()
	dst.head(name, fields, n)
	for _, s := range parts {
		if len(s) > 0 {
			size := int(unsafe.Sizeof(s[0]))
			dst.put(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), size*len(s)), size, nil)
		}
	}
	return dst
}

// AppendValue writes a section with the one value v to dst.
func AppendValue[T any](dst *Out, name string, v *T) *Out {
	return Append(dst, name, unsafe.Slice(v, 1))
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// Reader reads what Append wrote. The first error stays.
type Reader struct {
	Bytes []byte
	// More, unless nil, gives what comes behind Bytes, piece by piece; nil when it cannot. Left is how many bytes
	// it has. Large sections are read without a copy of them.
	More func() []byte
	Left uint64
	Err  error
}

// there is how many bytes are left.
func (r *Reader) there() uint64 { return uint64(len(r.Bytes)) + r.Left }

// has says whether there are n bytes, and gets them into Bytes.
func (r *Reader) has(n uint64) bool {
	if n > r.there() {
		return false
	}
	for uint64(len(r.Bytes)) < n {
		piece := r.next()
		if piece == nil {
			return false
		}
		r.Bytes = append(r.Bytes[:len(r.Bytes):len(r.Bytes)], piece...)
	}
	return true
}

// next is a piece that More gives, nil when there is none.
func (r *Reader) next() []byte {
	piece := r.More()
	if uint64(len(piece)) > r.Left || len(piece) == 0 {
		r.Left = 0
		return nil
	}
	r.Left -= uint64(len(piece))
	return piece
}

// take fills into.
func (r *Reader) take(into []byte) bool {
	for {
		n := copy(into, r.Bytes)
		into, r.Bytes = into[n:], r.Bytes[n:]
		if len(into) == 0 {
			return true
		}
		if r.Left == 0 {
			return false
		}
		if r.Bytes = r.next(); r.Bytes == nil {
			return false
		}
	}
}

// Read replaces *s by the values of the next section, which must have the name.
func Read[T any](r *Reader, name string, s *[]T) {
	fields, n := r.section(name)
	if r.Err != nil {
		return
	}
	if mine, _ := fieldsOf[T](); fields != mine {
		readOther(r, name, fields, n, s)
		return
	}
	var zero T
	size := uint64(unsafe.Sizeof(zero))
	if size == 0 || n > r.there()/size {
		r.Err = ErrShort
		return
	}
	out := Make[T](int(n), int(n+n/4))
	if n > 0 && !r.take(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), int(n*size))) {
		r.Err = ErrShort
		return
	}
	*s = out
}

// ReadValue replaces *v by the value of the next section, which must have the name.
func ReadValue[T any](r *Reader, name string, v *T) {
	var s []T
	if Read(r, name, &s); r.Err != nil {
		return
	}
	if len(s) != 1 {
		r.Err = fmt.Errorf("flat: %q holds %d values, not one", name, len(s))
		return
	}
	*v = s[0]
}

// section reads the beginning of a section: its fields and the number of its values.
func (r *Reader) section(name string) (fields string, n uint64) {
	got := r.text()
	fields = string(r.text())
	n = r.uvarint()
	if r.Err == nil && string(got) != name {
		r.Err = fmt.Errorf("flat: %q comes where %q was expected", got, name)
	}
	return fields, n
}

// text reads a length and as many bytes.
func (r *Reader) text() (text []byte) {
	n := r.uvarint()
	if r.Err == nil && !r.has(n) {
		r.Err = ErrShort
	}
	if r.Err != nil {
		return nil
	}
	text, r.Bytes = r.Bytes[:n], r.Bytes[n:]
	return text
}

func (r *Reader) uvarint() uint64 {
	if r.Err != nil {
		return 0
	}
	r.has(min(binary.MaxVarintLen64, r.there()))
	n, k := binary.Uvarint(r.Bytes)
	if k <= 0 {
		r.Err = ErrShort
		return 0
	}
	r.Bytes = r.Bytes[k:]
	return n
}

// ByteOrder is the byte order of this machine: "little" or "big".
func ByteOrder() string {
	probe := uint16(1)
	if *(*byte)(unsafe.Pointer(&probe)) == 1 {
		return "little"
	}
	return "big"
}

// Size is the memory of the values of s, bytes, without room to grow into.
func Size[T any](s []T) int64 {
	var zero T
	return int64(len(s)) * int64(unsafe.Sizeof(zero))
}
