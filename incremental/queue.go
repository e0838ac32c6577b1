package incremental

import (
	"math/bits"

	"github.com/isowatch/isowatch/internal/flat"
)

// queue holds the ranks of a view's live nodes in order, in blocks. Ranks come nearly in order
// and leave at the low end. So a push mostly ends in one of the last blocks, and a pop moves an
// index. Together they take a quarter of the instructions of a binary heap of 64,000.
type queue struct {
	blocks []block
	free   []uint32 // blocks
	runs   []run    // in order; those before head are gone
	head   int
	n      int // ranks
}

// blockLen is how many ranks a block has room for.
const blockLen = 64

type block [blockLen]rank

// run is a block in use: ranks[from:to], never empty, low is the first of them.
type run struct {
	low      rank
	block    uint32
	from, to uint32
}

// top is the lowest rank; there must be one.
func (q *queue) top() rank { return q.runs[q.head].low }

// pop takes the lowest rank away.
func (q *queue) pop() rank {
	x := &q.runs[q.head]
	low := x.low
	q.n--
	if x.from++; x.from < x.to {
		x.low = q.blocks[x.block][x.from]
		return low
	}
	q.free = append(q.free, x.block)
	if q.head++; q.head == len(q.runs) {
		q.runs, q.head = q.runs[:0], 0
	} else if q.head >= 1024 && q.head > len(q.runs)/2 {
		q.runs = q.runs[:copy(q.runs, q.runs[q.head:])]
		q.head = 0
	}
	return low
}

// push queues r. O(log of the runs + blockLen).
func (q *queue) push(r rank) {
	q.n++
	i := q.find(r)
	if i < q.head { // the lowest of all
		if i = q.head; i == len(q.runs) {
			q.insertRun(i, r)
			return
		}
	}
	x := &q.runs[i]
	b := &q.blocks[x.block]
	if x.to == blockLen {
		switch {
		case less(b[blockLen-1], r):
			// At the end of the last run ranks go on in a new block; elsewhere as well,
			// where the next run is full.
			q.insertRun(i+1, r)
			return
		case x.from > 0: // there is room at the front
			copy(b[:], b[x.from:x.to])
			x.from, x.to = 0, x.to-x.from
		default:
			i = q.split(i, r)
			x = &q.runs[i]
			b = &q.blocks[x.block]
		}
	}
	lo := x.from
	for n := x.to - x.from; n > 0; {
		half := (n + 1) / 2
		lo += half & below(&b[(lo+half-1)%blockLen], &r)
		n -= half
	}
	copy(b[lo+1:x.to+1], b[lo:x.to])
	b[lo] = r
	x.to++
	x.low = b[x.from]
}

// below is all ones when a < b, and 0 otherwise. Where a new rank belongs among others
// is as good as random, and a branch on it is guessed wrong every other time.
func below(a, b *rank) uint32 {
	_, c := bits.Sub64(uint64(a.seq), uint64(b.seq), 0)
	_, c = bits.Sub64(uint64(a.at)^1<<63, uint64(b.at)^1<<63, c)
	return uint32(-c)
}

// nearRuns are those at the end among which a rank nearly always belongs.
const nearRuns = 64

// find is the last run that begins below r, head-1 if there is none. It looks from
// the end, in growing steps.
func (q *queue) find(r rank) int {
	if lo := len(q.runs) - nearRuns; lo >= q.head && less(q.runs[lo].low, r) {
		near := (*[nearRuns]run)(q.runs[lo:])
		i := uint32(0) // near[i] begins below r
		for step := uint32(nearRuns / 2); step > 0; step /= 2 {
			i += step & below(&near[(i+step)%nearRuns].low, &r)
		}
		return lo + int(i)
	}
	hi := len(q.runs) // runs[hi:] begin above r
	step := 1
	lo := hi - step
	for lo >= q.head && less(r, q.runs[lo].low) {
		hi = lo
		step *= 2
		lo = hi - step
	}
	lo = max(lo, q.head-1)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; less(r, q.runs[mid].low) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo
}

// insertRun puts a run that holds only r at place i.
func (q *queue) insertRun(i int, r rank) {
	var b uint32
	if k := len(q.free); k > 0 {
		b, q.free = q.free[k-1], q.free[:k-1]
	} else {
		b = uint32(len(q.blocks))
		q.blocks = flat.Push(q.blocks, block{})
	}
	q.blocks[b][0] = r
	q.runs = append(q.runs, run{})
	copy(q.runs[i+1:], q.runs[i:])
	q.runs[i] = run{low: r, block: b, to: 1}
}

// split halves run i, which is full, and returns the half that r belongs to.
func (q *queue) split(i int, r rank) int {
	const half = blockLen / 2
	old := q.runs[i].block
	q.insertRun(i+1, q.blocks[old][half])
	x, y := &q.runs[i], &q.runs[i+1]
	copy(q.blocks[y.block][:], q.blocks[old][half:])
	x.to, y.to = half, half
	if less(r, y.low) {
		return i
	}
	return i + 1
}

// each calls fn with every rank, lowest first.
func (q *queue) each(fn func(rank)) { q.first(q.n, fn) }

// first calls fn with the k lowest ranks.
func (q *queue) first(k int, fn func(rank)) {
	for _, x := range q.runs[q.head:] {
		for _, r := range q.blocks[x.block][x.from:x.to] {
			if k--; k < 0 {
				return
			}
			fn(r)
		}
	}
}

// appendState writes q to dst.
func (q *queue) appendState(dst *flat.Writer) *flat.Writer {
	all := make([]rank, 0, q.n)
	for _, x := range q.runs[q.head:] {
		all = append(all, q.blocks[x.block][x.from:x.to]...)
	}
	return flat.Append(dst, "queue", all)
}

func (q *queue) readState(r *flat.Reader) {
	*q = queue{}
	var all []rank
	flat.Read(r, "queue", &all)
	for _, x := range all {
		q.push(x)
	}
}
