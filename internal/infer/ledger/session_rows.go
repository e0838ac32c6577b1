package ledger

import (
	"slices"
	"sort"
)

// memberRows are the members of a session's list in their order, in rows of up to maxRow. A
// place is found by halving, first among the rows and then in one. No row is empty. Two rows
// beside each other have more than maxRow/2 members.
type memberRows [][]rowMember

// maxRow bounds what one arrival moves: 2 KiB.
const maxRow = 128

// rowMember is a member. Its seq is at hand, or its start if the members have no seq. Only members with
// equal ones are compared by their transactions.
type rowMember struct {
	at int64
	n  uint32
}

func (s *Ledger) rowMember(n uint32) rowMember {
	t := &s.Txns[n]
	if t.Flags&HasSeq != 0 {
		return rowMember{t.Seq, n}
	}
	return rowMember{t.Start, n}
}

// any returns one of the members, 0 if there is none.
func (r memberRows) any() uint32 {
	if len(r) == 0 {
		return 0
	}
	return r[0][0].n
}

// memberFollows is [Ledger.ComesAfter] for members of one order.
func (s *Ledger) memberFollows(a, b rowMember) bool {
	return a.at > b.at || a.at == b.at && s.ComesAfter(a.n, b.n)
}

// firstMember is the first place, by row and column, of a member with this property, which all
// later ones have too. It is behind the last member of the last row if none has it.
func (r memberRows) firstMember(has func(rowMember) bool) (row, column int) {
	row = max(0, sort.Search(len(r), func(i int) bool { return has(r[i][0]) })-1)
	if row == len(r) {
		return row, 0
	}
	column = sort.Search(len(r[row]), func(i int) bool { return has(r[row][i]) })
	return row, column
}

// rowNeighbours gives the two members between which n belongs. n comes behind all members that it does
// not precede.
func (s *Ledger) rowNeighbours(r *memberRows, n uint32) (prev, next uint32) {
	slot := s.rowMember(n)
	row, column := r.firstMember(func(m rowMember) bool { return s.memberFollows(m, slot) })
	if row == len(*r) {
		return 0, 0
	}
	if column == 0 { // of the first row
		next = (*r)[row][0].n
		return 0, next
	}
	prev = (*r)[row][column-1].n
	return prev, s.Txns[prev].SessNext
}

// enterRow notes n.
func (s *Ledger) enterRow(r *memberRows, n uint32) {
	slot := s.rowMember(n)
	row, column := r.firstMember(func(m rowMember) bool { return s.memberFollows(m, slot) })
	if row == len(*r) {
		*r = append(*r, append(make([]rowMember, 0, maxRow), slot))
		return
	}
	if of := (*r)[row]; len(of) == maxRow {
		// Members mostly come in order: a full last row stays full.
		at := maxRow / 2
		if column == maxRow && row == len(*r)-1 {
			at = maxRow
		}
		behind := append(make([]rowMember, 0, maxRow), of[at:]...)
		(*r)[row] = of[:at]
		*r = slices.Insert(*r, row+1, behind)
		if column >= at && (column > at || at == maxRow) {
			row, column = row+1, column-at
		}
	}
	(*r)[row] = slices.Insert((*r)[row], column, slot)
}

// leaveRow forgets n.
func (s *Ledger) leaveRow(r *memberRows, n uint32) {
	slot := s.rowMember(n)
	row, column := r.firstMember(func(m rowMember) bool { return !s.memberFollows(slot, m) })
	for ; row < len(*r); row, column = row+1, 0 { // n is among its equals
		if i := slices.IndexFunc((*r)[row][column:], func(m rowMember) bool { return m.n == n }); i >= 0 {
			(*r)[row] = slices.Delete((*r)[row], column+i, column+i+1)
			break
		}
	}
	if row < len(*r) && len((*r)[row]) == 0 {
		*r = slices.Delete(*r, row, row+1)
		return
	}
	for _, i := range []int{row - 1, row} {
		if i >= 0 && i+1 < len(*r) && len((*r)[i])+len((*r)[i+1]) <= maxRow/2 {
			(*r)[i] = append((*r)[i], (*r)[i+1]...)
			*r = slices.Delete(*r, i+1, i+2)
			return
		}
	}
}
