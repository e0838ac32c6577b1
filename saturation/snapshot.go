package saturation

import (
	"unsafe"

	"github.com/isowatch/isowatch/internal/flat"
)

type counts struct {
	stride, freeEntry, freeColumn, stamp, tooWide uint32
}

// Signature names the layout of what AppendState writes.
func Signature() []byte {
	return flat.Signature(1, unsafe.Sizeof(txn{}), unsafe.Sizeof(key{}), unsafe.Sizeof(entry{}), unsafe.Sizeof(column{}), unsafe.Sizeof(chain{}))
}

// AppendState writes all that the state holds to dst.
func (s *State) AppendState(dst []byte) []byte {
	c := counts{stride: s.stride, freeEntry: s.freeEntry, freeColumn: s.freeColumn, stamp: s.stamp}
	if s.TooWide {
		c.tooWide = 1
	}
	dst = flat.AppendValue(dst, &c)
	dst = flat.Append(dst, s.txns)
	dst = flat.Append(dst, s.keys)
	dst = flat.Append(dst, s.entries)
	dst = flat.Append(dst, s.columns)
	dst = flat.Append(dst, s.chains)
	dst = flat.Append(dst, s.clocks)
	return flat.Append(dst, s.idle)
}

// ReadState replaces what the state holds by what AppendState wrote.
func (s *State) ReadState(r *flat.Reader) {
	var c counts
	flat.ReadValue(r, &c)
	s.stride, s.freeEntry, s.freeColumn, s.stamp, s.TooWide = c.stride, c.freeEntry, c.freeColumn, c.stamp, c.tooWide != 0
	flat.Read(r, &s.txns)
	flat.Read(r, &s.keys)
	flat.Read(r, &s.entries)
	flat.Read(r, &s.columns)
	flat.Read(r, &s.chains)
	flat.Read(r, &s.clocks)
	flat.Read(r, &s.idle)
}
