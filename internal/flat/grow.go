package flat

import "unsafe"

// hugePage is the size of a huge page, and hugeFrom the size in bytes from which an
// array is put on them. A huge page is resident as a whole: smaller arrays of hundreds of sources would take
// many times their size.
const (
	hugePage = 2 << 20
	hugeFrom = 2 << 20
)

// Push appends v. An array that outgrows hugeFrom grows by half and is put on huge pages where
// the system has them. Otherwise random access to tables that are larger than the caches waits
// for address translation as much as for memory.
func Push[T any](s []T, v T) []T {
	if len(s) < cap(s) {
		return append(s, v)
	}
	var zero T
	if uintptr(cap(s))*unsafe.Sizeof(zero) < hugeFrom/2 {
		return append(s, v)
	}
	grown := Make[T](len(s), cap(s)+cap(s)/2)
	copy(grown, s)
	return append(grown, v)
}

// Make is make([]T, n, c), on huge pages when it is large: then it lies within
// pages of its own.
func Make[T any](n, c int) []T {
	var zero T
	size := uintptr(c) * unsafe.Sizeof(zero)
	if size < hugeFrom {
		return make([]T, n, c)
	}
	// One page more, to begin where a page does.
	whole := (size+hugePage-1)/hugePage*hugePage + hugePage
	s := make([]T, int(whole/unsafe.Sizeof(zero)))
	memory := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(zero))
	adviseHuge(memory)
	from := uintptrOf(memory)
	skip := int(((from+hugePage-1)/hugePage*hugePage - from + unsafe.Sizeof(zero) - 1) / unsafe.Sizeof(zero))
	return s[skip : skip+n : skip+c]
}

func uintptrOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Room is s with room for n values.
func Room[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s
	}
	grown := Make[T](len(s), n)
	copy(grown, s)
	return grown
}
