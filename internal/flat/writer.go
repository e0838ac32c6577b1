package flat

import (
	"encoding/binary"
	"unsafe"
)

// apartFrom is the size in bytes from which an array is left where it is.
const apartFrom = 64 << 10

// Writer takes what Append writes. Use [NewWriter] or [NewWriterApart].
type Writer struct {
	bytes []byte
	apart bool
	parts []Part
	from  int // of the bytes that are in no part yet
}

// Part is a piece of the output: bytes of the writer's, or the memory of an array. That is valid
// until its owner changes it.
type Part struct {
	Memory []byte
	size   int // of a value; 0 for bytes of the writer's
	gaps   []gap
}

// NewWriter appends to dst.
func NewWriter(dst []byte) *Writer { return &Writer{bytes: dst} }

// NewWriterApart leaves large arrays where they are: see [Writer.Parts].
func NewWriterApart() *Writer { return &Writer{apart: true} }

// Bytes is the whole output of a writer that leaves no array where it is.
func (w *Writer) Bytes() []byte { return w.bytes }

// Parts are the output, in order. A copy of their memory becomes the bytes by [Part.Clean].
func (w *Writer) Parts() []Part {
	w.cut()
	return w.parts
}

// cut ends the part of the writer's own bytes.
func (w *Writer) cut() {
	if w.from < len(w.bytes) {
		w.parts = append(w.parts, Part{Memory: w.bytes[w.from:len(w.bytes):len(w.bytes)]})
		w.from = len(w.bytes)
	}
}

func (w *Writer) begin(name, fields string, n int) {
	w.bytes = appendText(appendText(w.bytes, name), fields)
	w.bytes = binary.AppendUvarint(w.bytes, uint64(n))
}

func (w *Writer) memory(b []byte, size int, gaps []gap) {
	if w.apart && len(b) >= apartFrom {
		w.cut()
		w.parts = append(w.parts, Part{b, size, gaps})
		return
	}
	from := len(w.bytes)
	w.bytes = append(w.bytes, b...)
	clean(w.bytes[from:], size, gaps)
}

// Whole is the most of n bytes that holds whole values of the part.
func (p *Part) Whole(n int) int {
	if len(p.gaps) == 0 {
		return n
	}
	return n / p.size * p.size
}

// Clean makes zeros of what is between the fields of whole values that were copied from the part.
func (p *Part) Clean(b []byte) { clean(b, p.size, p.gaps) }

func clean(b []byte, size int, gaps []gap) {
	for _, g := range gaps {
		for at := 0; at < len(b); at += size {
			clear(b[at+g.from : at+g.to])
		}
	}
}

func sizeOf[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

func memoryOf[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), sizeOf[T]()*len(s))
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
