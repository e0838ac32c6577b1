package ledger

import "math/bits"

// SeqSet is the set of members of a session that came: bit i of words[w] says that the one with seq
// base+64w+i did. Full words at the beginning are dropped. So a session in order needs one word. If its
// records come over partitions that are read at different speeds, it needs one bit for each place of
// the disorder.
type SeqSet struct {
	Base  int64
	Words []uint64
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
func (s *Ledger) noteSeq(id uint32, seq int64, n uint32) {
	for int(id) >= len(s.Seqs) {
		s.Seqs = append(s.Seqs, SeqSet{})
	}
	x := &s.Seqs[id]
	before := len(x.Words)
	s.noteIn(x, seq, n)
	s.SeqWords += int64(len(x.Words) - before)
}

func (s *Ledger) noteIn(x *SeqSet, seq int64, n uint32) {
	most := uint64(maxJump)
	if s.SeqWords > manyWords {
		most = leastJump
	}
	// Unsigned, the difference is exact.
	if d, kept := uint64(seq)-uint64(x.Base), 64*uint64(len(x.Words)); kept > 0 && seq >= x.Base && d > kept+most {
		s.gap(n, int64(min(d-kept, maxGap)))
		x.Words = nil
	}
	if len(x.Words) == 0 { // nothing is expected before the first
		x.Base = seq &^ 63
		x.Words = append(x.Words[:0], 1<<(seq&63)|(1<<(seq&63)-1))
		return
	}
	if seq < x.Base {
		return
	}
	at := int((seq - x.Base) >> 6)
	for at >= len(x.Words) {
		x.Words = append(x.Words, 0)
	}
	x.Words[at] |= 1 << (seq & 63)
	for len(x.Words) > 1 && x.Words[0] == ^uint64(0) {
		x.Words, x.Base = x.Words[1:], x.Base+64
	}
	// Only the member right behind a gap asks: those behind it would ask for what
	// lies before it once more.
	if seq > x.Base && x.Words[(seq-1-x.Base)>>6]&(1<<((seq-1)&63)) == 0 {
		s.Wait(s.Txns[n].End, n, 0, 0, MissingSeq)
	}
}

func (s *Ledger) gap(n uint32, missing int64) {
	s.Counters.Gaps += missing
	s.Report(Anomaly{Kind: SequenceGap, A: n, Count: missing, Certain: true})
}

// DecideSeq reports the members before n that did not come, once.
func (s *Ledger) DecideSeq(n uint32) {
	t := &s.Txns[n]
	if int(t.Session) >= len(s.Seqs) {
		return
	}
	x := &s.Seqs[t.Session]
	last := int((t.Seq - x.Base) >> 6)
	if t.Seq < x.Base || last >= len(x.Words) {
		return
	}
	missing := 0
	for w := 0; w <= last; w++ {
		before := ^uint64(0)
		if w == last {
			before = 1<<(t.Seq&63) - 1
		}
		missing += bits.OnesCount64(before &^ x.Words[w])
		x.Words[w] |= before
	}
	if missing > 0 {
		s.gap(n, int64(missing))
	}
}
