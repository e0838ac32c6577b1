package saturation

import "github.com/isowatch/isowatch/internal/flat"

type counts struct {
	stride, freeEntry, freeColumn, stamp uint32
	tooWide                              bool
	widths                               bool // each page has its own: not so in earlier versions
}

// AppendState writes all that the state holds to dst.
func (s *State) AppendState(dst *flat.Writer) *flat.Writer {
	c := counts{stride: s.stride, freeEntry: s.freeEntry, freeColumn: s.freeColumn, stamp: s.stamp, tooWide: s.TooWide, widths: true}
	dst = flat.AppendValue(dst, "counts", &c)
	dst = flat.Append(dst, "txns", s.txns)
	dst = flat.Append(dst, "keys", s.keys)
	dst = flat.Append(dst, "entries", s.entries)
	dst = flat.Append(dst, "columns", s.columns)
	dst = flat.Append(dst, "chains", s.chains)
	widths := make([]uint32, len(s.clocks))
	for i, page := range s.clocks {
		widths[i] = uint32(len(page) / pageRows)
	}
	dst = flat.Append(dst, "widths", widths)
	dst = flat.AppendParts(dst, "clocks", s.clocks)
	return flat.Append(dst, "idle", s.idle)
}

// ReadState replaces what the state holds by what AppendState wrote.
func (s *State) ReadState(r *flat.Reader) {
	var c counts
	flat.ReadValue(r, "counts", &c)
	s.stride, s.freeEntry, s.freeColumn, s.stamp, s.TooWide = c.stride, c.freeEntry, c.freeColumn, c.stamp, c.tooWide
	flat.Read(r, "txns", &s.txns)
	flat.Read(r, "keys", &s.keys)
	flat.Read(r, "entries", &s.entries)
	flat.Read(r, "columns", &s.columns)
	flat.Read(r, "chains", &s.chains)
	var clocks, widths []uint32
	if c.widths {
		flat.Read(r, "widths", &widths)
	}
	flat.Read(r, "clocks", &clocks)
	s.clocks = nil
	for _, width := range widths {
		page := int(width) * pageRows
		if page > len(clocks) {
			break
		}
		s.clocks, clocks = append(s.clocks, clocks[:page:page]), clocks[page:]
	}
	for page := int(s.stride) * pageRows; len(clocks) > 0 && page > 0; {
		if n := min(page, len(clocks)); n < page {
			clocks = append(clocks, make([]uint32, page-n)...)
		}
		s.clocks, clocks = append(s.clocks, clocks[:page:page]), clocks[page:]
	}
	flat.Read(r, "idle", &s.idle)
}

// Memory is the size of the state, bytes. Room to grow into is not counted.
func (s *State) Memory() int64 {
	n := flat.Size(s.txns) + flat.Size(s.keys) + flat.Size(s.entries) + flat.Size(s.columns) + flat.Size(s.chains) + flat.Size(s.idle)
	for _, page := range s.clocks {
		n += flat.Size(page)
	}
	return n
}
