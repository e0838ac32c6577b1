package solve

import (
	"slices"
)

// entry is a unit of a key on a track.
type entry struct {
	at, unit int32
}

// segment is the units of one key on one track, in its order.
type segment struct {
	track, from, to int32 // entries
}

// lanes are the units of all keys by track, by the node that edges of one kind
// lead to.
type lanes struct {
	entries  []entry
	segments []segment
	first    []int32 // by key: its first segment
}

// of are the segments of key k.
func (l *lanes) of(k int) []segment { return l.segments[l.first[k]:l.first[k+1]] }

// lay deals the units out to the tracks of their heads. They come in an order in which the
// units of a track mostly are already.
func (s *solver) lay(head func(*Unit) Node) lanes {
	l := lanes{entries: make([]entry, len(s.p.Units)), first: make([]int32, 0, s.p.numKeys()+1)}
	count := make([]int32, s.c.tracks)
	var tracks []int32
	var es []entry // in the order of the line
	var on []int32 // their tracks
	for k := range s.p.numKeys() {
		from, to := s.p.unitsOf(k)
		tracks, es, on = tracks[:0], es[:0], on[:0]
		for _, x := range s.lined[from:to] {
			u := x.unit
			v := head(&s.p.Units[u])
			t := s.c.track[v]
			if count[t]++; count[t] == 1 {
				tracks = append(tracks, t)
			}
			es, on = append(es, entry{s.c.at[v], u}), append(on, t)
		}
		slices.Sort(tracks)
		l.first = append(l.first, int32(len(l.segments)))
		for _, t := range tracks {
			l.segments = append(l.segments, segment{t, from, from})
			from, count[t] = from+count[t], int32(len(l.segments)-1)
		}
		for i, e := range es {
			x := &l.segments[count[on[i]]]
			j := x.to
			for ; j > x.from && later(l.entries[j-1], e); j-- {
				l.entries[j] = l.entries[j-1]
			}
			l.entries[j] = e
			x.to++
		}
		for _, t := range tracks {
			count[t] = 0
		}
	}
	l.first = append(l.first, int32(len(l.segments)))
	return l
}

func later(a, b entry) bool { return a.at > b.at || a.at == b.at && a.unit > b.unit }

// before is the index of the first entry of the segment at or behind the place.
func (l *lanes) before(x segment, place int32) int32 {
	lo, hi := x.from, x.to
	if hi-lo <= 8 {
		for lo < hi && l.entries[lo].at < place {
			lo++
		}
		return lo
	}
	for lo < hi {
		if mid := (lo + hi) / 2; l.entries[mid].at < place {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// seek is before for one that is expected near the i-th entry.
func (l *lanes) seek(x segment, i, place int32) int32 {
	const near = 4
	if i < x.to && l.entries[i].at < place {
		end := min(i+near, x.to)
		for i++; i < end; i++ {
			if l.entries[i].at >= place {
				return i
			}
		}
		x.from = i
	} else {
		end := max(i-near, x.from)
		for ; i > end; i-- {
			if l.entries[i-1].at < place {
				return i
			}
		}
		x.to = i
	}
	return l.before(x, place)
}

// last is the last unit of the segment before the place that is not a, -1 for none.
func (l *lanes) last(x segment, place, a int32) int32 {
	i := l.before(x, place) - 1
	if i >= x.from && l.entries[i].unit == a {
		i--
	}
	if i < x.from {
		return -1
	}
	return l.entries[i].unit
}

// cursors are where seek begins in the segments of a key.
type cursors []int32

// reset begins a key.
func (c cursors) reset(segments []segment) cursors {
	c = c[:0]
	for _, x := range segments {
		c = append(c, x.from)
	}
	return c
}

// between is the last unit of the i-th segment that lies before the place and is not a. It is
// -1 if that unit lies before known as well, and where there is none.
func (c cursors) between(l *lanes, i int, x segment, known, place, a int32) int32 {
	if place <= known {
		return -1
	}
	at := l.seek(x, c[i], place)
	c[i] = at
	at--
	if at >= x.from && l.entries[at].unit == a {
		at--
	}
	if at < x.from || l.entries[at].at < known {
		return -1
	}
	return l.entries[at].unit
}
