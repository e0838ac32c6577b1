package ledger

// Place names bytes in an arena: chunk<<40 | offset<<20 | length for what fits a
// chunk, which is everything but the largest records; those have a chunk of
// their own and length bigLen. 0 is none.
type Place uint64

const (
	chunkBytes = 1 << 18 // 256 KiB: a pinned record holds at most this much
	bigLen     = 1<<20 - 1
	firstBytes = 1 << 13
)

// Arena keeps the compact records of transactions and the names of keys in chunks without pointers in
// them. A chunk is reused when all of it is free. The rest of a chunk that is mostly free can be moved,
// see Compact of package infer.
type Arena struct {
	chunks [][]byte
	live   []int32 // records in the chunk
	used   []int32 // bytes of them
	InUse  int64   // sum of used
	free   []uint32
	cur    uint32
	bytes  int64 // in chunks that are in use
}

// Put copies b into the arena, and returns its place.
func (a *Arena) Put(b []byte) Place {
	if len(a.chunks) == 0 {
		a.chunks, a.live, a.used = append(a.chunks, nil), append(a.live, 0), append(a.used, 0) // chunk 0 is never used
	}
	a.InUse += int64(len(b))
	if len(b) > chunkBytes/4 {
		c := a.newChunk(len(b))
		a.chunks[c] = append(a.chunks[c], b...)
		a.live[c]++
		a.used[c] += int32(len(b))
		return Place(c)<<40 | bigLen
	}
	if a.cur == 0 || len(a.chunks[a.cur])+len(b) > chunkBytes {
		full := a.cur
		a.cur = a.newChunk(chunkBytes)
		if full != 0 && a.live[full] == 0 {
			a.release(full)
		}
	}
	c := a.chunks[a.cur]
	off := len(c)
	if off+len(b) > cap(c) { // the first one
		c = append(make([]byte, 0, min(chunkBytes, max(2*cap(c), off+len(b)))), c...)
	}
	a.chunks[a.cur] = append(c, b...)
	a.live[a.cur]++
	a.used[a.cur] += int32(len(b))
	return Place(a.cur)<<40 | Place(off)<<20 | Place(len(b))
}

func (a *Arena) newChunk(size int) uint32 {
	a.bytes += int64(max(size, chunkBytes))
	if k := len(a.free); k > 0 {
		c := a.free[k-1]
		a.free = a.free[:k-1]
		if cap(a.chunks[c]) < size {
			a.chunks[c] = make([]byte, 0, max(size, chunkBytes))
		}
		return c
	}
	room := max(size, chunkBytes)
	if len(a.chunks) == 1 && size == chunkBytes {
		room = firstBytes // it grows: a source may have little
	}
	a.chunks = append(a.chunks, make([]byte, 0, room))
	a.live, a.used = append(a.live, 0), append(a.used, 0)
	return uint32(len(a.chunks) - 1)
}

// Get returns the bytes at r, nil for none. They stay until Drop or Move of r.
func (a *Arena) Get(r Place) []byte {
	if r == 0 {
		return nil
	}
	c := a.chunks[r>>40]
	if r&bigLen == bigLen {
		return c
	}
	off, n := int(r>>20&(1<<20-1)), int(r&bigLen)
	return c[off : off+n : off+n]
}

// Drop lets go of the bytes at r.
func (a *Arena) Drop(r Place) {
	if r == 0 {
		return
	}
	c := uint32(r >> 40)
	n := int32(r & bigLen)
	if n == bigLen {
		n = int32(len(a.chunks[c]))
	}
	a.used[c] -= n
	a.InUse -= int64(n)
	a.live[c]--
	if a.live[c] == 0 && c != a.cur {
		a.release(c)
	}
}

func (a *Arena) release(c uint32) {
	a.bytes -= int64(max(cap(a.chunks[c]), chunkBytes))
	if cap(a.chunks[c]) > chunkBytes {
		a.chunks[c] = nil // an outsized record's chunk goes back to the heap
	} else {
		a.chunks[c] = a.chunks[c][:0]
	}
	a.free = append(a.free, c)
}

// Taken is the size of the chunks, bytes. The first one grows with its content.
func (a *Arena) Taken() int64 {
	if len(a.chunks) == 2 && a.bytes == chunkBytes {
		return int64(len(a.chunks[1]))
	}
	return a.bytes
}

// Wasteful says whether less than half of more than 16 chunks is in use.
func (a *Arena) Wasteful() bool { return a.bytes > 16*chunkBytes && 2*a.InUse < a.bytes }

// Move copies the record that r names, if its chunk is mostly free. It returns the
// record's place.
func (a *Arena) Move(r Place) Place {
	c := uint32(r >> 40)
	if r == 0 || r&bigLen == bigLen || c == a.cur || 2*a.used[c] > chunkBytes {
		return r
	}
	to := a.Put(a.Get(r))
	a.Drop(r)
	return to
}
