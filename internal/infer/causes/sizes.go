package causes

import (
	"unsafe"

	"github.com/isowatch/isowatch/internal/flat"
)

// SignBytes is the memory of what is known of the past of keys, as allocated.
func (s *Absences) SignBytes() int64 {
	return int64(cap(s.Signs.Stood))*int64(unsafe.Sizeof(stand{})) + int64(cap(s.Signs.Glimpses.All))*int64(unsafe.Sizeof(Glimpse{}))
}

// SignMemory is the size of the signs, bytes: all of them are in use.
func (s *Absences) SignMemory() (used, taken int64) {
	n := flat.Size(s.Signs.Stood) + flat.Size(s.Signs.Glimpses.All) + flat.Size(s.Signs.twoKeys.slots) + flat.Size(s.Signs.twoVersions.slots)
	return n, n
}
