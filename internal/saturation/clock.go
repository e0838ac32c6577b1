package saturation

import "github.com/isowatch/isowatch/internal/flat"

// pageRows is how many clocks lie in one page. So what is there need not be copied for more.
const pageRows = 1 << 10

// row is the clock of t. It may have entries for fewer chains than there are: the others are 0. It
// is valid until its page widens, in fit.
func (s *State) row(t uint32) []uint32 {
	page := s.clocks[t/pageRows]
	n := len(page) / pageRows
	at := int(t%pageRows) * n
	return page[at : at+n : at+n]
}

// of is the entry of a clock for a chain.
func of(clock []uint32, chain uint32) uint32 {
	if int(chain) < len(clock) {
		return clock[chain]
	}
	return 0
}

// join takes the pasts of what t directly depends on, and these themselves, into
// t's. It says whether t's past has grown.
func (s *State) join(t *Txn) (grown bool) {
	s.fit(t.Number)
	mine := s.row(t.Number)
	if s.txns[t.Number].chain == 0 {
		clear(mine)
	}
	grown = s.take(mine, t.Number, t.After)
	for _, p := range t.Preds {
		grown = s.take(mine, t.Number, p) || grown
	}
	for i := range t.Reads {
		grown = s.take(mine, t.Number, t.Reads[i].Writer) || grown
	}
	for i := range t.Shown {
		grown = s.take(mine, t.Number, t.Shown[i].Writer) || grown
	}
	return grown
}

// take takes p and its past into mine, the clock of t.
func (s *State) take(mine []uint32, t, p uint32) (grown bool) {
	if p == 0 || p == t || !s.Known(p) {
		return false
	}
	if x := &s.txns[p]; s.txns[t].chain == 0 && mine[x.chain] >= x.pos {
		return false // with its past, or whoever brought it is renewed
	}
	theirs := s.row(p) // no page is wider than mine, which is fit
	for i, v := range theirs {
		if v > mine[i] {
			mine[i], grown = v, true
		}
	}
	if x := &s.txns[p]; x.pos > mine[x.chain] {
		mine[x.chain], grown = x.pos, true
	}
	return grown
}

// fit makes room for the clock of t, with an entry for each chain. A page widens when one of its
// transactions is taken in: the past of an earlier one has no member of a later chain.
func (s *State) fit(t uint32) {
	p, stride := int(t/pageRows), int(s.stride)
	for p >= len(s.clocks) {
		s.clocks = append(s.clocks, nil)
	}
	page := s.clocks[p]
	if len(page) == stride*pageRows {
		return
	}
	grown := flat.Make[uint32](stride*pageRows, stride*pageRows)
	if n := len(page) / pageRows; n > 0 {
		for i := range pageRows {
			copy(grown[i*stride:], page[i*n:(i+1)*n])
		}
	}
	s.clocks[p] = grown
}

// wideFrom is the width from which on clocks widen by an eighth only.
const wideFrom = 256

// widen makes the clocks of those that are taken in next wide enough for one more chain.
func (s *State) widen() {
	if len(s.chains) < int(s.stride) {
		return
	}
	stride := s.stride + s.stride/2
	if s.stride >= wideFrom {
		stride = s.stride + s.stride/8
	}
	if stride > 64 {
		stride = (stride + 15) &^ 15
	}
	s.stride = stride
}

// enter puts t at the end of a chain. It may be the chain of the one before t in its session,
// if that is the latest there. Or it is a chain without live members, one whose latest member
// is in t's past, or a new one.
func (s *State) enter(t *Txn) {
	at, after, session := uint32(0), t.After, t.Session
	if t.Open {
		after, session = 0, 0
	}
	if after != 0 && s.Known(after) && s.chains[s.txns[after].chain].tail == after {
		at = s.txns[after].chain
	}
	if at == 0 && len(s.idle) > 0 {
		at = s.idle[len(s.idle)-1]
		s.idle = s.idle[:len(s.idle)-1]
	}
	if at == 0 && s.clocked && !s.TooWide && len(s.chains) > 16 {
		mine := s.row(t.Number)
		for i := 1; i < len(s.chains); i++ {
			if c := &s.chains[i]; mine[i] >= c.pos {
				at = uint32(i)
				break
			}
		}
	}
	if at == 0 && len(s.chains) > s.MaxChains {
		s.TooWide, s.clocks = true, nil
		at = 1 // its members are not one behind the other any more
	}
	if at == 0 {
		at = uint32(len(s.chains))
		s.chains = append(s.chains, chain{session: session})
		if s.clocked && !s.TooWide {
			s.widen()
		}
	}
	c := &s.chains[at]
	if c.session != session {
		c.mixed = 1
	}
	c.pos++
	c.live++
	c.tail, c.session = t.Number, session
	x := &s.txns[t.Number]
	x.chain, x.pos, x.session = at, c.pos, session
}
