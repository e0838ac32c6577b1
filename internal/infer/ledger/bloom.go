package ledger

import "github.com/isowatch/isowatch/internal/flat"

// bloomFilter remembers which records may be on disk. It is a Bloom filter in blocks of one cache line,
// and an entry has a bit in each of its 8 words. It keeps every entry, and misses none. An entry that
// it wrongly takes for present costs a needless read. At 12 bits an entry that is about one in 200. It
// grows by sets, each four times as large as the last one, up to a limit. Beyond it the last one gets
// ever fuller.
type bloomFilter struct {
	sets  [][]uint64
	Used  int // entries
	last  int // entries in the last set
	Limit int // bytes; 0 is SpillBytes, 45 million entries
}

const (
	blockWords   = 8
	blockEntries = 42
	firstBlocks  = 256      // 16 KiB
	SpillBytes   = 64 << 20 // SpillBytes bounds a filter whose Limit is 0
)

func refHash(r Ref) uint64 { return mix(r.Hash.Lo^uint64(r.Kind)*0x9e3779b97f4a7c15) ^ r.Hash.Hi }

// Bytes is the size of the filter.
func (f *bloomFilter) Bytes() int64 {
	n := int64(0)
	for _, s := range f.sets {
		n += 8 * int64(len(s))
	}
	return n
}

// block is the block of s for h.
func block(s []uint64, h uint64) []uint64 {
	i := int((h >> 32) % uint64(len(s)/blockWords) * blockWords)
	return s[i : i+blockWords : i+blockWords]
}

// bit is the i-th of the 8 bits of h.
func bit(h uint64, i int) uint64 { return 1 << (mix(h+uint64(i)*0x9e3779b97f4a7c15) >> 58) }

// Has says whether the record r may be out.
func (f *bloomFilter) Has(r Ref) bool {
	h := refHash(r)
	for _, s := range f.sets {
		if inBlock(block(s, h), h) {
			return true
		}
	}
	return false
}

func inBlock(b []uint64, h uint64) bool {
	for i := range b {
		if b[i]&bit(h, i) == 0 {
			return false
		}
	}
	return true
}

// Add notes that the record r is out.
func (f *bloomFilter) Add(r Ref) {
	if f.Has(r) {
		return
	}
	if k := len(f.sets); k == 0 {
		f.sets = append(f.sets, make([]uint64, firstBlocks*blockWords))
	} else if words := len(f.sets[k-1]); f.last >= words/blockWords*blockEntries {
		limit := int64(f.Limit)
		if limit == 0 {
			limit = SpillBytes
		}
		if grown := 4 * words; f.Bytes()+8*int64(grown) <= limit {
			f.sets = append(f.sets, flat.Make[uint64](grown, grown))
			f.last = 0
		}
	}
	h := refHash(r)
	b := block(f.sets[len(f.sets)-1], h)
	for i := range b {
		b[i] |= bit(h, i)
	}
	f.Used++
	f.last++
}

// bloomHead is a filter without its bits.
type bloomHead struct{ sets, used, last int64 }

// AppendState writes the filter. Its sections keep the name that the filter once had.
func (f *bloomFilter) AppendState(dst *flat.Writer) *flat.Writer {
	dst = flat.AppendValue(dst, "sketch", &bloomHead{int64(len(f.sets)), int64(f.Used), int64(f.last)})
	for _, s := range f.sets {
		dst = flat.Append(dst, "set", s)
	}
	return dst
}

// ReadState reads what AppendState wrote.
func (f *bloomFilter) ReadState(r *flat.Reader) {
	var head bloomHead
	flat.ReadValue(r, "sketch", &head)
	f.sets, f.Used, f.last = nil, int(head.used), int(head.last)
	for i := int64(0); i < head.sets && r.Err == nil; i++ {
		var s []uint64
		flat.Read(r, "set", &s)
		if r.Err == nil && (len(s) == 0 || len(s)%blockWords != 0) {
			r.Err = flat.ErrShort
		}
		f.sets = append(f.sets, s)
	}
}
