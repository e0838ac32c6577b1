package infer

import "math/bits"

// seqSet is the set of members of a session that came: bit i of words[w] says that the one with seq
// base+64w+i did. Full words at the beginning are dropped. So a session in order needs one word. If its
// records come over partitions that are read at different speeds, it needs one bit for each place of
// the disorder.
type seqSet struct {
	base  int64
	words []uint64
}

// maxJump is how far seq may jump before the members between are taken as lost
// at once: 512 KiB of bits.
const maxJump = 1 << 22

// leastJump takes its place while all sessions together have more than manyWords: 1 KiB of bits, and 16 MiB.
const (
	leastJump = 1 << 13
	manyWords = 1 << 21
)

// maxGap is the most that one jump counts for: the counter of gaps stays positive
// through 2^31 of them.
const maxGap = 1 << 32

// noteSeq notes the member with this seq. When some before it are missing, that
// is looked at again once the watermark has passed it.
func (s *ledger) noteSeq(id uint32, seq int64, n uint32) {
	for int(id) >= len(s.seqs) {
		s.seqs = append(s.seqs, seqSet{})
	}
	x := &s.seqs[id]
	before := len(x.words)
	s.noteIn(x, seq, n)
	s.seqWords += int64(len(x.words) - before)
}

func (s *ledger) noteIn(x *seqSet, seq int64, n uint32) {
	most := uint64(maxJump)
	if s.seqWords > manyWords {
		most = leastJump
	}
	// Unsigned, the difference is exact.
	if d, kept := uint64(seq)-uint64(x.base), 64*uint64(len(x.words)); kept > 0 && seq >= x.base && d > kept+most {
		s.gap(n, int64(min(d-kept, maxGap)))
		x.words = nil
	}
	if len(x.words) == 0 { // nothing is expected before the first
		x.base = seq &^ 63
		x.words = append(x.words[:0], 1<<(seq&63)|(1<<(seq&63)-1))
		return
	}
	if seq < x.base {
		return
	}
	at := int((seq - x.base) >> 6)
	for at >= len(x.words) {
		x.words = append(x.words, 0)
	}
	x.words[at] |= 1 << (seq & 63)
	for len(x.words) > 1 && x.words[0] == ^uint64(0) {
		x.words, x.base = x.words[1:], x.base+64
	}
	// Only the member right behind a gap asks: those behind it would ask for what
	// lies before it once more.
	if seq > x.base && x.words[(seq-1-x.base)>>6]&(1<<((seq-1)&63)) == 0 {
		s.wait(s.txns[n].end, n, 0, 0, missingSeq)
	}
}

func (s *ledger) gap(n uint32, missing int64) {
	s.Counters.Gaps += missing
	s.anomaly(Anomaly{Kind: SequenceGap, A: n, Count: missing, Certain: true})
}

// decideSeq reports the members before n that did not come, once.
func (s *ledger) decideSeq(n uint32) {
	t := &s.txns[n]
	if int(t.session) >= len(s.seqs) {
		return
	}
	x := &s.seqs[t.session]
	last := int((t.seq - x.base) >> 6)
	if t.seq < x.base || last >= len(x.words) {
		return
	}
	missing := 0
	for w := 0; w <= last; w++ {
		before := ^uint64(0)
		if w == last {
			before = 1<<(t.seq&63) - 1
		}
		missing += bits.OnesCount64(before &^ x.words[w])
		x.words[w] |= before
	}
	if missing > 0 {
		s.gap(n, int64(missing))
	}
}
