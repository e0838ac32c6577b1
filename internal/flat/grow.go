package flat

import "unsafe"

// hugeFrom is the size in bytes from which an array asks for huge pages.
const hugeFrom = 2 << 20

// Push appends v. An array that outgrows 2 MiB grows by half and is put on huge
// pages where the system has them: random access to tables of hundreds of
// megabytes otherwise waits for address translation as much as for memory.
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

// Make is make([]T, n, c), on huge pages when it is large.
func Make[T any](n, c int) []T {
	s := make([]T, n, c)
	var zero T
	if size := uintptr(c) * unsafe.Sizeof(zero); size >= hugeFrom {
		adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), size))
	}
	return s
}

func uintptrOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
