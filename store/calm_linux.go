package store

import (
	"os"
	"syscall"
	"unsafe"
)

// giveBack takes the whole pages of b, which holds zeros only, out of memory. The system makes them again, as zeros, when they are used.
func giveBack(b []byte) {
	page := os.Getpagesize()
	begin := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(page-1))
	if n := (len(b) - begin) &^ (page - 1); n > 0 {
		_ = syscall.Madvise(b[begin:begin+n], syscall.MADV_DONTNEED) // else they stay
	}
}
