package flat

import "syscall"

const (
	madvHugepage = 14 // MADV_HUGEPAGE
	pageSize     = 4096
)

// adviseHuge asks for huge pages under b. It is a hint: where the system refuses,
// nothing changes.
func adviseHuge(b []byte) {
	skip := int(-uintptrOf(b) & (pageSize - 1))
	if n := (len(b) - skip) &^ (pageSize - 1); n > 0 {
		_ = syscall.Madvise(b[skip:skip+n], madvHugepage)
	}
}
