package event

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Open transactions are kept in a log. In each round (a step) the caller writes its changes. So
// a round costs as much as it brought, and not as much as is open. Now and then an unchanged
// open transaction is written again, the oldest first, as many bytes as the changes had. So the
// log holds about three times what is open, and its beginning can go. Integers and texts have
// the form of the compact record.
//
//	byte  assemblerVersion
//	uint  evicted
//	uint  number of transactions that are not open any more, and the serial of each
//	to the end, of each one that changed:
//	  uint  serial: they come by it
//	  byte  1: has start, 2: too long, 4: early, 8: the end follows, 16: waited, 32: whole
//	  with 32, in place of all that was known of it: text partition, int offset,
//	    uint sub, int start, text compact record without operations
//	  int   waited                   with 16
//	  the end, with 8: byte status, 4: has start, 8: has end; uint count; int start;
//	    int end; text partition; int offset; uint sub; texts record and raw
//	  uint  number of operations that are new, and of each its index as uint, and a text
const assemblerVersion = 3

const (
	stateHasStart = 1 << iota
	stateTooLong
	stateEarly
	stateEnded
	stateWaited
	stateWhole
)

const (
	endHasStart = 4
	endHasEnd   = 8
)

// assemblyLog says what of an assembler's state is in its log.
type assemblyLog struct {
	changed []change // since the latest round, also what is gone
	gone    []uint64 // serials of transactions that are in the log
	first   *openTxn // those in the log, by the round that wrote them whole, a list
	last    *openTxn
	round   uint64 // the latest that wrote anything; 0: this assembler has written nothing
	credit  int    // bytes that may be written again
}

type change struct {
	open   *openTxn
	serial uint64 // open.serial, unless open is gone or was used again
}

// logged describes the part of an open transaction that is in the log.
type logged struct {
	changed    bool
	ended      bool
	round      uint64 // that wrote it whole last; 0: none
	text       int    // of openTxn.text, without its head
	prev, next *openTxn
}

// change notes that open is not what the log says of it.
func (a *Assembler) change(open *openTxn) {
	if a.Recorded && !open.log.changed {
		open.log.changed = true
		a.log.changed = append(a.log.changed, change{open, open.serial})
	}
}

// roundCost is about what an entry of the log costs beside its bytes.
const roundCost = 256

// AppendChanges appends the changes since the call before, for [Restored.Add]. Without changes
// it appends only in an assembler's first call. Rounds begin at 1 and grow; Recorded must be
// set.
func (a *Assembler) AppendChanges(dst []byte, round uint64) []byte {
	l := &a.log
	if len(l.changed) == 0 && len(l.gone) == 0 && l.round != 0 {
		return dst
	}
	begin := len(dst)
	dst = append(dst, assemblerVersion)
	dst = binary.AppendUvarint(dst, a.evicted)
	dst = binary.AppendUvarint(dst, uint64(len(l.gone)))
	for _, serial := range l.gone {
		dst = binary.AppendUvarint(dst, serial)
	}
	for _, c := range l.changed {
		if c.open.serial == c.serial && c.open.log.changed {
			dst = a.appendOpen(dst, c.open, round)
		}
	}
	l.gone, l.round = l.gone[:0], round
	clear(l.changed)
	l.changed = l.changed[:0]
	l.credit += len(dst) - begin + roundCost
	for open := l.first; open != nil && open.log.round < round && open.size() <= l.credit; open = l.first {
		l.credit -= open.size()
		a.unlog(open)
		dst = a.appendOpen(dst, open, round)
	}
	if l.first == nil || l.first.log.round == round {
		l.credit = 0
	}
	return dst
}

// LoggedSince is the first round whose changes still count.
func (a *Assembler) LoggedSince() uint64 {
	if a.log.first != nil {
		return a.log.first.log.round
	}
	return a.log.round
}

// unlog forgets what the log holds of open.
func (a *Assembler) unlog(open *openTxn) {
	x := &open.log
	if x.round == 0 {
		return
	}
	if x.prev == nil {
		a.log.first = x.next
	} else {
		x.prev.log.next = x.next
	}
	if x.next == nil {
		a.log.last = x.prev
	} else {
		x.next.log.prev = x.prev
	}
	*x = logged{changed: x.changed}
}

// enlog notes that the round writes open whole: it is the latest.
func (a *Assembler) enlog(open *openTxn, round uint64) {
	x := &open.log
	x.round, x.prev, x.next = round, a.log.last, nil
	if a.log.last == nil {
		a.log.first = open
	} else {
		a.log.last.log.next = open
	}
	a.log.last = open
}

// appendOpen appends what the log does not hold of open, which then it does.
func (a *Assembler) appendOpen(dst []byte, open *openTxn, round uint64) []byte {
	whole := open.log.round == 0
	ended := open.ended != nil && !open.log.ended
	dst = binary.AppendUvarint(dst, open.serial)
	var flags byte
	for _, x := range [...]struct {
		is   bool
		flag byte
	}{
		{open.hasStart, stateHasStart}, {open.tooLong, stateTooLong}, {open.early, stateEarly},
		{ended, stateEnded}, {open.stamped, stateWaited}, {whole, stateWhole},
	} {
		if x.is {
			flags |= x.flag
		}
	}
	dst = append(dst, flags)
	if whole {
		dst = appendString(dst, open.partition)
		dst = binary.AppendVarint(dst, open.pos.Offset)
		dst = binary.AppendUvarint(dst, uint64(open.pos.Sub))
		dst = binary.AppendVarint(dst, open.start)
		dst = appendBytes(dst, open.text[:open.head])
		a.enlog(open, round)
	}
	if open.stamped {
		dst = binary.AppendVarint(dst, open.waited)
	}
	if ended {
		dst = appendEnd(dst, open.ended)
	}
	known, count := open.head+open.log.text, 0
	for _, op := range open.ops {
		if int(op.off) >= known {
			count++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(count))
	for _, op := range open.ops {
		if int(op.off) >= known {
			dst = binary.AppendUvarint(dst, uint64(op.index))
			dst = appendBytes(dst, open.text[op.off:op.end])
		}
	}
	open.log.changed, open.log.ended, open.log.text = false, open.ended != nil, len(open.text)-open.head
	return dst
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// Restored is the content of a log. The zero value stands for an empty log.
type Restored struct {
	evicted  uint64
	bySerial map[uint64]*openTxn // looked up, never ranged over
	all      []*openTxn          // by arrival in the log; gone ones have no serial
	round    uint64
	decoder  Decoder
}

// Add takes what a round wrote. Rounds come in their order, from LoggedSince on.
func (r *Restored) Add(round uint64, changes []byte) error {
	if r.bySerial == nil {
		r.bySerial = map[uint64]*openTxn{}
	}
	in := recordReader{rec: changes}
	if v := in.byte(); in.err == nil && v != assemblerVersion {
		return fmt.Errorf("open transactions: version %d, this program reads %d", v, assemblerVersion)
	}
	r.evicted, r.round = in.uint(), round
	for n := in.count(1); n > 0 && in.err == nil; n-- {
		serial := in.uint()
		if open := r.bySerial[serial]; open != nil {
			open.serial = 0
			delete(r.bySerial, serial)
		}
	}
	for in.i < len(in.rec) && in.err == nil {
		r.change(&in)
	}
	if in.err != nil {
		return fmt.Errorf("open transactions: %w", in.err)
	}
	return nil
}

// change reads what a round wrote of one transaction. Its beginning may have left the log
// already: then a later round says that it is gone.
func (r *Restored) change(in *recordReader) {
	serial, flags := in.uint(), in.byte()
	open := r.bySerial[serial]
	if flags&stateWhole != 0 {
		if open == nil {
			open = &openTxn{}
			r.bySerial[serial] = open
			r.all = append(r.all, open)
		}
		*open = openTxn{heapIndex: -1, serial: serial, log: logged{round: r.round}}
		open.partition = string(in.bytes())
		open.pos.Offset, open.pos.Sub = in.int(), uint32(in.uint())
		open.start = in.int()
		open.text = append(open.text, in.bytes()...)
		open.head = len(open.text)
	}
	if open == nil {
		open = &openTxn{}
	}
	open.hasStart, open.tooLong = flags&stateHasStart != 0, flags&stateTooLong != 0
	open.early = flags&stateEarly != 0
	if open.stamped = flags&stateWaited != 0; open.stamped {
		open.waited = in.int()
	}
	if flags&stateEnded != 0 {
		open.ended = loadEnd(in)
	}
	var b Batch
	for n := in.count(3); n > 0 && in.err == nil; n-- {
		index, text := in.uint(), in.bytes()
		if in.err != nil || index >= MaxOps || len(open.text)+len(text) > math.MaxUint32 {
			in.fail("an operation is damaged")
			return
		}
		op := opAt{uint32(index), uint32(len(open.text)), uint32(len(open.text) + len(text))}
		at, twice := slices.BinarySearchFunc(open.ops, op, func(x, y opAt) int { return int(x.index) - int(y.index) })
		b.Reset()
		if err := r.decoder.decodeOp(&b, text); err != nil || twice {
			in.fail("an operation comes twice, or is damaged")
			return
		}
		open.text = append(open.text, text...)
		open.ops = slices.Insert(open.ops, at, op)
	}
}

// Into gives what was restored to a, which must be fresh. The limits of a are applied by
// the next Add.
func (r *Restored) Into(a *Assembler) error {
	a.byID = make(map[Hash]*openTxn)
	a.evicted, a.Recorded = r.evicted, true
	open := slices.DeleteFunc(r.all, func(open *openTxn) bool { return open.serial == 0 })
	slices.SortFunc(open, func(x, y *openTxn) int { return cmp.Compare(x.serial, y.serial) })
	for _, open := range open {
		var b Batch
		if err := a.decoder.DecodeRecord(&b, Position{}, open.text[:open.head]); err != nil {
			return fmt.Errorf("open transactions: %w", err)
		}
		t := &b.Txns[0]
		open.id = a.identity(&b, t.Source, t.Epoch, t.ID)
		if a.byID[open.id] != nil || t.NumOps != 0 {
			return fmt.Errorf("open transactions: %q is open twice, or its head holds operations", b.Bytes(t.ID))
		}
		a.serial = open.serial - 1
		a.insert(open, bytes.Clone(b.Bytes(t.Source)))
		if open.waits() {
			open.source.wait(open)
		}
		open.log.ended, open.log.text = open.ended != nil, len(open.text)-open.head
	}
	for _, open := range open {
		open.source.orderWaits()
	}
	slices.SortStableFunc(open, func(x, y *openTxn) int { return cmp.Compare(x.log.round, y.log.round) })
	for _, open := range open {
		a.enlog(open, open.log.round)
	}
	return nil
}

// orderWaits puts those that wait back into the order in which they began to.
func (s *openSource) orderWaits() {
	slices.SortFunc(s.waits, func(x, y waiting) int {
		if x.open.stamped != y.open.stamped {
			if x.open.stamped {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(x.open.waited, y.open.waited), cmp.Compare(x.serial, y.serial))
	})
}

func appendEnd(dst []byte, e *spreadEnd) []byte {
	flags := byte(e.status)
	if e.hasStart {
		flags |= endHasStart
	}
	if e.hasEnd {
		flags |= endHasEnd
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(e.count))
	dst = binary.AppendVarint(dst, e.start)
	dst = binary.AppendVarint(dst, e.end)
	dst = binary.AppendUvarint(dst, uint64(len(e.partition)))
	dst = append(dst, e.partition...)
	dst = binary.AppendVarint(dst, e.pos.Offset)
	dst = binary.AppendUvarint(dst, uint64(e.pos.Sub))
	dst = binary.AppendUvarint(dst, uint64(len(e.text)))
	dst = append(dst, e.text...)
	dst = binary.AppendUvarint(dst, uint64(len(e.raw)))
	return append(dst, e.raw...)
}

func loadEnd(r *recordReader) *spreadEnd {
	flags := r.byte()
	e := &spreadEnd{status: Status(flags & 3), hasStart: flags&endHasStart != 0, hasEnd: flags&endHasEnd != 0}
	e.count = uint32(min(r.uint(), MaxOps))
	e.start, e.end = r.int(), r.int()
	e.partition = string(r.bytes())
	e.pos.Offset, e.pos.Sub = r.int(), uint32(r.uint())
	e.text, e.raw = bytes.Clone(r.bytes()), bytes.Clone(r.bytes())
	if _, err := ReadRecord(e.text); r.err == nil && (err != nil || e.status != Committed && e.status != Aborted) {
		r.fail("the end of a transaction is damaged")
	}
	return e
}
