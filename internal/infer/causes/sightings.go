package causes

import "github.com/isowatch/isowatch/internal/flat"

// sighting is a value of a pattern, or of a key, and where it was seen.
type sighting struct{ value, where uint64 }

// Bounds of a table of sightings, in entries of 16 bytes. It grows by four when an eighth is filled, so
// that a source with few values takes little: 16 KiB at first, 512 KiB at most.
const (
	leastSightings = 1 << 10
	MostSightings  = 1 << 15
)

// sightings remember where values were seen: the latest of each slot. A slot forgets its value when it
// takes another one.
type sightings struct {
	slots  []sighting // nil before the first
	filled int        // slots
}

// see remembers where the value was seen, and returns where it was seen before. If it was not seen
// before, it returns the present place. The table has at most so many entries.
func (s *sightings) see(value, where uint64, most int) uint64 {
	if 8*s.filled >= len(s.slots) && len(s.slots) < most {
		s.grow(min(max(4*len(s.slots), leastSightings), most))
	}
	x := s.slot(value)
	before := *x
	s.put(sighting{value, where})
	if before.value == value && before.where != 0 {
		return before.where
	}
	return where
}

// at is where the value was seen last, 0 if that is not known.
func (s *sightings) at(value uint64) uint64 {
	if len(s.slots) == 0 {
		return 0
	}
	if x := s.slot(value); x.value == value {
		return x.where
	}
	return 0
}

func (s *sightings) slot(value uint64) *sighting { return &s.slots[value%uint64(len(s.slots))] }

func (s *sightings) put(x sighting) {
	at := s.slot(x.value)
	if *at == (sighting{}) && x != (sighting{}) {
		s.filled++
	}
	*at = x
}

func (s *sightings) grow(size int) {
	old := s.slots
	s.slots, s.filled = make([]sighting, size), 0
	for _, x := range old {
		s.put(x)
	}
}

func (s *sightings) read(r *flat.Reader, name string) {
	*s = sightings{}
	flat.Read(r, name, &s.slots)
	for _, x := range s.slots {
		if x != (sighting{}) {
			s.filled++
		}
	}
	if len(s.slots) == 0 {
		s.slots = nil
	}
}
