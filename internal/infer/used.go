package infer

import (
	"math"
	"unsafe"

	"github.com/isowatch/isowatch/internal/flat"
)

// Memory is the size of the state, bytes: used without the free places of the tables, taken with them.
// Room to grow into is not counted. So a state has the same size before and after a snapshot.
func (s *memory) Memory() (used, taken int64) {
	add := func(u, t int64) { used, taken = used+u, taken+t }
	add(slots(s.txns, &s.free.txns))
	add(slots(s.keys, &s.free.keys))
	add(slots(s.versions, &s.free.versions))
	add(slots(s.writes, &s.free.writes))
	add(slots(s.readers, &s.free.readers))
	add(slots(s.sessions, &s.free.sessions))
	add(s.signMemory())
	add(s.sets.memory())
	add(s.counters.memory())
	add(s.linear.memory())
	for _, n := range []int64{
		flat.Size(s.seqs), 8 * s.seqWords,
		flat.Size(s.absence.heap), flat.Size(s.patient.heap), flat.Size(s.expiry.heap), flat.Size(s.late), flat.Size(s.unsure), flat.Size(s.kept), flat.Size(s.spill.lingering), flat.Size(s.spill.dead),
		s.values.bytes(), s.twice.bytes(), s.aborts.bytes(), s.ids.bytes(), s.spill.out.bytes(),
	} {
		add(n, n)
	}
	for _, x := range []*index{&s.byID, &s.byKey, &s.byVersion, &s.bySession} {
		add(x.memory())
	}
	for _, a := range []*arena{&s.records, &s.names} {
		add(a.inUse, a.taken())
	}
	return used, taken
}

// slots is a table whose free places are known.
func slots[T any](s []T, free *flat.Slots) (used, taken int64) {
	var zero T
	size := int64(unsafe.Sizeof(zero))
	return int64(len(s)-free.Len()) * size, int64(len(s)) * size
}

// LimitMemory bounds the filters, and other state beside the window, by a share of the memory of the state. 0 stands
// for the built-in bounds. A full filter forgets its oldest entries, or costs needless reads of the store.
func (s *memory) LimitMemory(room int64) {
	if room == 0 {
		room = math.MaxInt64
	}
	s.KeepUnobserved(int(min(maxTentative, max(room/8/tentativeBytes, 1<<7))))
	s.signs.most = int(min(mostSightings, max(room/64/16, 1<<8)))
	cut := func(most int64) int { return int(min(most, max(room/16, 1<<15))) }
	s.values.limit, s.twice.limit, s.aborts.limit, s.ids.limit = cut(valueBytes), cut(twiceBytes), cut(abortBytes), cut(idBytes)
	s.spill.out.limit = cut(spillBytes)
}

// SetOptions lets o take effect on what is taken in and decided from now on.
func (s *memory) SetOptions(o Options) {
	if !o.Linear {
		s.linear.forget()
	}
	s.setOptions(o)
}

// signMemory is the size of the signs, bytes: all of them are in use.
func (s *absences) signMemory() (used, taken int64) {
	n := flat.Size(s.signs.stood) + flat.Size(s.signs.glimpses.all) + flat.Size(s.signs.twoKeys.slots) + flat.Size(s.signs.twoVersions.slots)
	return n, n
}
