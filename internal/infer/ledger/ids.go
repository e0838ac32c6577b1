package ledger

import "github.com/isowatch/isowatch/internal/flat"

// idFilter remembers the ids of transactions that have left memory, and the content of their records.
// So a repeated record is told from a different record with the same id. Both are 64-bit hashes. Like
// filter, it is a chain of hash sets. The oldest goes when the byte budget is used up. New entries wait
// in front to go there together.
type idFilter struct {
	front  []idEntry // at most idFront
	warmed uint64    // keeps the loads of flush
	panes  []idSet   // the last one takes new entries
	Limit  int       // bytes
}

// idSet is an open-addressing table; id 0 is the empty slot, and is itself kept
// as 1.
type idSet struct {
	slots []idEntry
	used  int
}

// idEntry is 16 bytes: both halves are in one cache line.
type idEntry struct{ id, content uint64 }

// undecided is the bit of idEntry.content that says that the outcome was unknown. The other
// bits belong to the content's hash.
const undecided = 1

// Bytes is the size of the filter.
func (f *idFilter) Bytes() int64 {
	n := int64(0) // the 1 KiB in front is not counted
	for i := range f.panes {
		n += 16 * int64(len(f.panes[i].slots))
	}
	return n
}

// Add notes an id with the hash of its record's content. open says that the outcome was unknown.
func (f *idFilter) Add(id, content uint64, open bool) {
	content &^= undecided
	if open {
		content |= undecided
	}
	if f.front = append(f.front, idEntry{max(id, 1), content}); len(f.front) == idFront {
		f.flush()
	}
}

// idFront is how many entries wait.
const idFront = 64

func (f *idFilter) flush() {
	if len(f.panes) > 0 {
		p := &f.panes[len(f.panes)-1]
		for _, e := range f.front {
			f.warmed += p.slots[mix(e.id)&uint64(len(p.slots)-1)].id
		}
	}
	for _, e := range f.front {
		f.store(e)
	}
	f.front = f.front[:0]
}

func (f *idFilter) store(e idEntry) {
	if len(f.panes) == 0 {
		f.panes = append(f.panes, idSet{slots: make([]idEntry, 128)})
	}
	p := &f.panes[len(f.panes)-1]
	if 4*(p.used+1) > 3*len(p.slots) {
		if 32*len(p.slots) > f.Limit/filterPanes {
			f.roll(len(p.slots))
			p = &f.panes[len(f.panes)-1]
		} else {
			p.grow()
		}
	}
	p.put(e)
}

func (f *idFilter) roll(slots int) {
	if len(f.panes) < filterPanes {
		f.panes = append(f.panes, idSet{slots: flat.Make[idEntry](slots, slots)})
		return
	}
	old := f.panes[0]
	clear(old.slots)
	old.used = 0
	copy(f.panes, f.panes[1:])
	f.panes[len(f.panes)-1] = old
}

// Get says whether a record with this id was let go. It also says whether the record with this content
// is the same record, and whether the first one had an unknown outcome.
func (f *idFilter) Get(id, content uint64) (known, same, open bool) {
	for i := len(f.front) - 1; i >= 0; i-- {
		if e := f.front[i]; e.id == max(id, 1) {
			return true, (e.content^content)&^undecided == 0, e.content&undecided != 0
		}
	}
	for i := len(f.panes) - 1; i >= 0; i-- {
		if e, ok := f.panes[i].get(id); ok {
			return true, (e.content^content)&^undecided == 0, e.content&undecided != 0
		}
	}
	return false, false, false
}

func (p *idSet) grow() {
	old := p.slots
	*p = idSet{slots: flat.Make[idEntry](2*len(old), 2*len(old))}
	for _, e := range old {
		if e.id != 0 {
			p.put(e)
		}
	}
}

func (p *idSet) put(e idEntry) {
	mask := uint64(len(p.slots) - 1)
	i := mix(e.id) & mask
	for p.slots[i].id != 0 {
		if p.slots[i].id == e.id {
			p.slots[i].content = e.content
			return
		}
		i = (i + 1) & mask
	}
	p.slots[i] = e
	p.used++
}

func (p *idSet) get(id uint64) (idEntry, bool) {
	id = max(id, 1)
	mask := uint64(len(p.slots) - 1)
	for i := mix(id) & mask; p.slots[i].id != 0; i = (i + 1) & mask {
		if p.slots[i].id == id {
			return p.slots[i], true
		}
	}
	return idEntry{}, false
}

// AppendState writes the filter.
func (f *idFilter) AppendState(dst *flat.Writer) *flat.Writer {
	n := int64(len(f.panes))
	dst = flat.AppendValue(dst, "ids", &n)
	dst = flat.Append(dst, "front", f.front)
	for i := range f.panes {
		used := int64(f.panes[i].used)
		dst = flat.AppendValue(dst, "used", &used)
		dst = flat.Append(dst, "slots", f.panes[i].slots)
	}
	return dst
}

// ReadState reads what AppendState wrote.
func (f *idFilter) ReadState(r *flat.Reader) {
	var n int64
	flat.ReadValue(r, "ids", &n)
	flat.Read(r, "front", &f.front)
	if len(f.front) >= idFront && r.Err == nil {
		r.Err = flat.ErrShort
	}
	f.panes = nil
	for range min(n, filterPanes) {
		var used int64
		var p idSet
		flat.ReadValue(r, "used", &used)
		flat.Read(r, "slots", &p.slots)
		if p.used = int(used); r.Err == nil && len(p.slots) == 0 {
			r.Err = flat.ErrShort
		}
		f.panes = append(f.panes, p)
	}
}
