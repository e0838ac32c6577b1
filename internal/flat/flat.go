// Package flat writes slices of fixed-size values to bytes and reads them back
// by copying their memory, which is what makes a snapshot of a million live
// transactions a matter of memory bandwidth. The bytes are those of this
// machine's byte order and of this program's field layout: [Signature] goes in
// front of a snapshot, and a reader with another one refuses it.
package flat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

// ErrShort is returned for bytes that end before the value does.
var ErrShort = errors.New("flat: input ends early")

// Append writes the length of s and its memory to dst. T must hold no pointers
// and no padding that matters.
func Append[T any](dst []byte, s []T) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(s)))
	if len(s) == 0 {
		return dst
	}
	size := int(unsafe.Sizeof(s[0])) * len(s)
	return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), size)...)
}

// AppendValue writes the memory of v to dst.
func AppendValue[T any](dst []byte, v *T) []byte {
	return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(v)), int(unsafe.Sizeof(*v)))...)
}

// Reader reads what Append wrote. The first error stays.
type Reader struct {
	Bytes []byte
	Err   error
}

// Read replaces *s by the slice that Append wrote.
func Read[T any](r *Reader, s *[]T) {
	if r.Err != nil {
		return
	}
	if len(r.Bytes) < 8 {
		r.Err = ErrShort
		return
	}
	n := binary.LittleEndian.Uint64(r.Bytes)
	var zero T
	size := uint64(unsafe.Sizeof(zero))
	if size == 0 || n > uint64(len(r.Bytes)-8)/size {
		r.Err = ErrShort
		return
	}
	out := Make[T](int(n), int(n+n/4))
	if n > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), int(n*size)), r.Bytes[8:])
	}
	r.Bytes = r.Bytes[8+n*size:]
	*s = out
}

// ReadValue replaces *v by what AppendValue wrote.
func ReadValue[T any](r *Reader, v *T) {
	size := int(unsafe.Sizeof(*v))
	if r.Err != nil {
		return
	}
	if len(r.Bytes) < size {
		r.Err = ErrShort
		return
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(v)), size), r.Bytes)
	r.Bytes = r.Bytes[size:]
}

// Signature names a layout: a version that its owner counts up, the sizes of
// its parts and the machine's byte order.
func Signature(version uint32, sizes ...uintptr) []byte {
	probe := uint16(1)
	order := *(*byte)(unsafe.Pointer(&probe))
	sig := fmt.Appendf(nil, "v%d o%d", version, order)
	for _, s := range sizes {
		sig = fmt.Appendf(sig, " %d", s)
	}
	return sig
}
