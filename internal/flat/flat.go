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

// ErrOther is in the error for sections or fields that this program does not have: another build wrote them.
var ErrOther = errors.New("flat: another program wrote it")

// Append writes a section with the values of s to dst. T must hold no pointers. Equal values are equal
// bytes: what is between the fields of a value is written as zeros.
func Append[T any](dst *Writer, name string, s []T) *Writer {
	fields, gaps := fieldsOf[T]()
	dst.begin(name, fields, len(s))
	dst.memory(memoryOf(s), sizeOf[T](), gaps)
	return dst
}

// AppendParts is Append for the values of all parts, one part behind the other. T has no gaps.
func AppendParts[T any](dst *Writer, name string, parts [][]T) *Writer {
	n := 0
	for _, s := range parts {
		n += len(s)
	}
	fields, _ := fieldsOf[T]()
	dst.begin(name, fields, n)
	for _, s := range parts {
		dst.memory(memoryOf(s), sizeOf[T](), nil)
	}
	return dst
}

// AppendValue writes a section with the one value v to dst.
func AppendValue[T any](dst *Writer, name string, v *T) *Writer {
	return Append(dst, name, unsafe.Slice(v, 1))
}

// Reader reads what Append wrote. The first error stays.
type Reader struct {
	Bytes []byte
	Err   error
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
	if size == 0 || n > uint64(len(r.Bytes))/size {
		r.Err = ErrShort
		return
	}
	out := Make[T](int(n), int(n+n/4))
	if n > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), int(n*size)), r.Bytes)
	}
	r.Bytes = r.Bytes[n*size:]
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
		r.Err = fmt.Errorf("%w: %q comes where %q was expected", ErrOther, got, name)
	}
	return fields, n
}

// text reads a length and as many bytes.
func (r *Reader) text() (text []byte) {
	n := r.uvarint()
	if r.Err == nil && n > uint64(len(r.Bytes)) {
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
