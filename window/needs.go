package window

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Beyond [Config.KeyCap] keys the retained state of cold ones goes out in the Effects of a
// step, to be stored. It comes back in the Answers of a later one:
//
//	for {
//		needs := m.Needs(batch, txns, &answers, needs[:0])
//		if len(needs) == 0 {
//			break
//		}
//		... read them, answers.Add each
//	}
//	m.Bring(&answers)
//	m.Step(batch, txns, tick, &effects)
//	... store effects.Puts
//
// A record that a step puts or deletes does not count before the step. State that comes back in
// a step stays in memory to its end. So a driver may write the puts of a step before it commits
// it, and write them again.

// Put is a change of the stored retained state.
type Put struct {
	Ref   infer.Ref
	Value []byte // nil: the record is of no use any more
	Size  int    // bytes that such a record had, at most
}

// Answer is a record that the store has, or that it has none.
type Answer struct {
	Ref    infer.Ref
	Record []byte // nil: there is none
}

// Answers are the records that were read for a step, in the order in which they were asked for.
type Answers struct {
	List  []Answer
	asked map[infer.Ref]struct{}
	done  int // of List: looked at for what they name
}

// Add appends an answer.
func (a *Answers) Add(ref infer.Ref, record []byte) {
	a.List = append(a.List, Answer{ref, record})
}

// Reset empties a.
func (a *Answers) Reset() {
	clear(a.List)
	a.List, a.done = a.List[:0], 0
	clear(a.asked)
}

// Needs appends to dst the records that must be read before the transactions of b at the given
// indexes can be stepped. First come the records that they touch. Called again with the
// answers, Needs appends those that the answers name. When it appends no more, the answers are
// complete. It only changes a.
//
// These records are enough because the step touches no others. A step adds the batch's
// transactions. They reach the keys of their operations, their sessions and records of the same
// id. They may also count or take back transactions of unknown outcome, and the keys of these
// stay in memory until they leave.
func (m *Machine) Needs(b *event.Batch, txns []int32, a *Answers, dst []infer.Ref) ([]infer.Ref, error) {
	if !m.infer.Spilled() {
		return dst, nil
	}
	first := len(a.asked) == 0
	if a.asked == nil {
		a.asked = map[infer.Ref]struct{}{}
	}
	need := func(r infer.Ref) {
		if _, ok := a.asked[r]; !ok {
			a.asked[r] = struct{}{}
			dst = append(dst, r)
		}
	}
	if first && a.done == 0 {
		for _, i := range txns {
			m.infer.Needs(b, &b.Txns[i], need)
		}
	}
	for ; a.done < len(a.List); a.done++ {
		x := &a.List[a.done]
		if x.Record == nil {
			continue
		}
		var err error
		if x.Ref.Kind == infer.TxnRecord {
			var rest []byte
			if rest, err = m.skipVertex(x.Record); err == nil {
				err = m.infer.KeysOfRecord(rest, func(h event.Hash) { m.infer.NeedKey(h, need) })
			}
		} else {
			err = infer.MembersOfRecord(x.Ref.Kind, x.Record, func(h event.Hash) { m.infer.NeedTxn(h, need) })
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Bring takes the answers in, before the step that they are for.
func (m *Machine) Bring(a *Answers) error {
	for _, kind := range []infer.RecordKind{infer.TxnRecord, infer.SessionRecord, infer.KeyRecord} {
		for i := range a.List {
			x := &a.List[i]
			if x.Ref.Kind != kind || x.Record == nil {
				continue
			}
			if err := m.choices.bring(x.Ref, x.Record); err != nil {
				return fmt.Errorf("bring back %x%x: %w", x.Ref.Hash.Hi, x.Ref.Hash.Lo, err)
			}
		}
	}
	return nil
}

func (o *choices) bring(ref infer.Ref, record []byte) error {
	switch ref.Kind {
	case infer.TxnRecord:
		rest, err := o.skipVertex(record)
		if err != nil {
			return err
		}
		n, err := o.infer.BringTxn(ref.Hash, rest)
		if n == 0 || err != nil {
			return err
		}
		o.finder.setAsked(n, isolation.Base(record[0]))
		from, until, _ := o.timesOf(n)
		if !o.graph.PutRanks(incremental.Vertex(n), record[3:len(record)-len(rest)], from, until) {
			return infer.ErrRecord
		}
	case infer.SessionRecord:
		return o.infer.BringSession(ref.Hash, record)
	case infer.KeyRecord:
		k, rest, err := o.infer.BringKey(ref.Hash, record)
		if k == 0 || err != nil {
			return err
		}
		return o.bringFrozen(k, rest)
	}
	return nil
}

// A transaction's record begins with the level that it asked for, and the ranks
// behind their length in two bytes.
func (a *asking) appendVertex(dst []byte, n uint32) []byte {
	asked := a.askedBy(n)
	at := len(dst)
	dst = append(dst, byte(asked), 0, 0)
	dst = a.graph.AppendRanks(dst, incremental.Vertex(n))
	size := len(dst) - at - 3 // at most 2 nodes of 25 bytes a view, and few more
	dst[at+1], dst[at+2] = byte(size), byte(size>>8)
	return dst
}

func (o *core) skipVertex(record []byte) ([]byte, error) {
	if len(record) < 3 {
		return nil, infer.ErrRecord
	}
	size := 3 + int(record[1]) + int(record[2])<<8
	if len(record) < size {
		return nil, infer.ErrRecord
	}
	return record[size:], nil
}

// cameFrom follows the i-th view back over the changes of the levels from number since on. before is
// its number ahead of them, -1 if it did not exist. same is false where it began as a copy of
// another view: then the two share only the frozen order.
func (t *levelChanges) cameFrom(i, since int) (before int, same bool) {
	same = true
	for at := len(t.changes) - 1; at >= since; at-- {
		x := &t.changes[at]
		switch from := x.from[i]; {
		case from.Start == incremental.Kept:
			i = from.View
		case from.Start == incremental.Copied && x.before[from.View].Underlying().Chooses():
			i, same = from.View, false
		default:
			return -1, false
		}
	}
	return i, same
}

// viewsMost bounds the views of a machine. It separates the two parts of a count: see appendFrozen.
const viewsMost = 64

// A key's record ends with the last time when a writer of it was let go of. Behind that are the
// versions that the frozen orders left there. They are nothing, or the number of views, and for
// each view a flag, a value and its place. viewsMost is added to the number of views for each
// change of the levels before. Older records lack this part.
func (o *choices) appendFrozen(dst []byte, k uint32) []byte {
	dst = binary.AppendUvarint(dst, uint64(o.saturated.droppedOf(k).when))
	known := false
	for i := range o.frozen {
		known = known || o.knowsFrozen(i, k)
	}
	count := uint64(len(o.levelChanges.changes) * viewsMost)
	if !known {
		if count > 0 {
			dst = binary.AppendUvarint(dst, count)
		}
		return dst
	}
	dst = binary.AppendUvarint(dst, count+uint64(len(o.frozen)))
	for i := range o.frozen {
		x := o.frozenLast(i, k)
		which := byte(0)
		if x.key != 0 {
			which = leftSome
		}
		if x.met.key != 0 {
			which |= leftMet
		}
		if dst = append(dst, which); x.key != 0 {
			dst = binary.LittleEndian.AppendUint64(dst, x.value)
			dst = binary.AppendVarint(dst, x.at)
			dst = binary.AppendUvarint(dst, uint64(x.seq))
		}
		if x.met.key != 0 {
			dst = binary.AppendVarint(binary.AppendVarint(dst, x.met.all), x.met.writer)
		}
	}
	return dst
}

// The flags of a key in a frozen order.
const (
	leftSome = 1 << iota // what was left there
	leftMet              // the bounds in time of the transactions that met it
)

func (o *choices) bringFrozen(k uint32, record []byte) error {
	if len(record) == 0 {
		o.countUnread(k, -1, 0)
		o.saturated.setDropped(k, dropped{when: o.saturated.drops}) // some may have been
		return nil
	}
	bad := false
	next := func(n int) {
		if bad = bad || n <= 0 || n > len(record); !bad {
			record = record[n:]
		}
	}
	drops, n := binary.Uvarint(record)
	next(n)
	count := uint64(0)
	if !bad && len(record) > 0 {
		count, n = binary.Uvarint(record)
		next(n)
	}
	since, views := int(count/viewsMost), int(count%viewsMost)
	if bad || count > viewsMost*uint64(len(o.levelChanges.changes)+1) || views > 0 && views != o.levelChanges.viewsAt(since) {
		return infer.ErrRecord
	}
	o.countUnread(k, -1, since)
	if since < o.levelChanges.saturatedFrom {
		drops = 0 // they left before the present forcing began, which says nothing of what had left
	}
	o.saturated.setDropped(k, dropped{when: uint32(drops)}) // the writer only matters to live readers from before the key went out: there are none
	if views == 0 {
		return nil
	}
	o.initFrozen()
	left := make([]lastFrozen, views)
	for i := range left {
		if len(record) == 0 {
			return infer.ErrRecord
		}
		which := record[0]
		next(1)
		x := &left[i]
		if which&leftSome != 0 {
			if len(record) < 8 {
				return infer.ErrRecord
			}
			x.key, x.value = o.infer.KeyHash(k), binary.LittleEndian.Uint64(record)
			next(8)
			x.at, n = binary.Varint(record)
			next(n)
			seq, n := binary.Uvarint(record)
			next(n)
			x.seq = uint32(seq)
		}
		if which&leftMet != 0 {
			x.met.key = o.infer.KeyHash(k)
			x.met.all, n = binary.Varint(record)
			next(n)
			x.met.writer, n = binary.Varint(record)
			next(n)
		}
		if bad || which&^(leftSome|leftMet) != 0 {
			return infer.ErrRecord
		}
	}
	for i := range o.views {
		if before, _ := o.levelChanges.cameFrom(i, since); before >= 0 && !left[before].empty() {
			o.setFrozen(i, k, left[before])
		}
	}
	return nil
}

// viewsAt is how many views there were after so many changes.
func (t *levelChanges) viewsAt(changes int) int {
	if changes == len(t.changes) {
		return len(t.views)
	}
	return len(t.changes[changes].before)
}

// Bounds of what a step does beside its transactions.
const (
	spillVisits   = 256  // keys that the hand passes,
	spillAhead    = 8    // and so many for each that is too many,
	spillCatchUp  = 1024 // of at most so many and those made in the step
	compactVisits = 64   // places that are looked at for a sparse chunk, and 2 for each transaction
)

// spill puts out what is cold, as far as there is more in memory than the cap.
func (m *Machine) spill(txns int) {
	m.infer.Compact(compactVisits + 2*txns)
	if m.cfg.KeyCap == 0 {
		return
	}
	put := func(ref infer.Ref, value []byte) {
		if value == nil && !m.infer.MayBeOut(ref) {
			return // nothing was ever written
		}
		m.results.Puts = append(m.results.Puts, Put{Ref: ref, Value: value})
	}
	defer m.infer.EndStep()
	m.infer.EachDead(func(r infer.Ref, bytes int) {
		m.results.Puts = append(m.results.Puts, Put{Ref: r, Size: bytes})
	})
	awaited := m.awaited()
	for n := m.infer.ColdTxn(awaited); n != 0; n = m.infer.ColdTxn(awaited) {
		put(m.infer.SpillTxn(m.asking.appendVertex([]byte{}, n), n))
	}
	tight := m.tight()
	if over := m.infer.KeysInMemory() - m.keep(m.infer.KeysInMemory(), tight); over > 0 {
		pinned := m.pinnedKeys()
		visits := min(spillVisits+spillAhead*min(over, spillCatchUp+m.infer.Made()), m.infer.KeySlots()) // each at most once
		for over > 0 {
			keys := m.infer.ColdKeys(&visits, pinned)
			if len(keys) == 0 {
				break
			}
			for _, k := range keys {
				m.choices.countUnread(k, +1, len(m.levelChanges.changes))
				frozen := m.choices.appendFrozen(nil, k)
				ref, record := m.infer.SpillKey([]byte{}, k)
				if record != nil {
					record = append(record, frozen...)
				}
				m.saturated.setDropped(k, dropped{}) // the number may become another key's
				put(ref, record)
			}
			over -= len(keys)
		}
	}
	if over := m.infer.SessionsInMemory() - m.keep(m.infer.SessionsInMemory(), tight); over > 0 {
		visits := min(spillVisits+spillAhead*min(over, spillCatchUp+m.infer.Made()), m.infer.SessionSlots())
		for ; over > 0; over-- {
			id := m.infer.ColdSession(&visits)
			if id == 0 {
				break
			}
			put(m.infer.SpillSession([]byte{}, id))
		}
	}
}

// awaited are the transactions that waiting edges ask about: those have to be shown to have missed an element.
func (m *Machine) awaited() (txns []uint32) {
	for i := range m.reports.horizon.waiting {
		if x := m.reports.horizon.waiting[i].Unshown; x != nil {
			txns = append(txns, m.infer.WithID(x.ID, x.Epoch))
		}
	}
	return txns
}

// pinnedKeys are the keys that open findings are about, and those whose elements waiting edges name by
// their numbers.
func (m *Machine) pinnedKeys() []uint32 {
	m.pinned = m.pinned[:0]
	for _, f := range m.reports.open.list {
		for _, v := range f.versions {
			if k := m.infer.KeyOf(v); !f.closed && !slices.Contains(m.pinned, k) {
				m.pinned = append(m.pinned, k)
			}
		}
	}
	for i := range m.reports.horizon.waiting {
		if x := m.reports.horizon.waiting[i].Unshown; x != nil {
			m.pinned = append(m.pinned, m.infer.KeyOf(x.Version))
		}
	}
	return m.pinned
}

// countUnread keeps the number of pairs of unread appends without an order, as orderUnread
// counts them, for the lists that are out. Their writers have all retired, so the number is
// final. since is how many changes of the levels there had been when the list went out: a view
// that began later did not count it.
func (o *choices) countUnread(k uint32, d int64, since int) {
	o.infer.Unread(k, func(writers []uint32) {
		o.finder.limits.pairsOut += d * int64(len(writers)-1)
		for i, level := range o.views {
			if _, same := o.levelChanges.cameFrom(i, since); !same {
				continue
			}
			if v, _ := level.View(); v.Split {
				n, _ := o.undecidedPairs(i, writers, nil) // all have retired: no edge is needed
				o.unreadOut[i] += d * n
			}
		}
	})
}
