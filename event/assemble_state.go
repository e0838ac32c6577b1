package event

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// The state of an assembler, version 2; integers and texts are those of the
// compact record. Version 1 had no spread transactions.
//
//	byte  assemblerVersion
//	uint  evicted
//	uint  number of open transactions, and each of them by order of arrival:
//	  text  partition
//	  int   offset
//	  uint  sub
//	  byte  1: has start, 2: too long, 4: early, 8: ended, 16: waited
//	  int   waited                   with 16
//	  the end, with 8: byte status, 4: has start, 8: has end; uint count; int start;
//	    int end; text partition; int offset; uint sub; texts record and raw
//	  int   start
//	  text  compact record without operations
//	  uint  number of operations, and of each its index as uint, and a text
const assemblerVersion = 2

const (
	stateHasStart = 1 << iota
	stateTooLong
	stateEarly
	stateEnded
	stateWaited
)

const (
	endHasStart = 4
	endHasEnd   = 8
)

// AppendState appends the open transactions, for LoadState.
func (a *Assembler) AppendState(dst []byte) []byte {
	dst = append(dst, assemblerVersion)
	dst = binary.AppendUvarint(dst, a.evicted)
	dst = binary.AppendUvarint(dst, uint64(len(a.byID)))
	for open := a.oldest; open != nil; open = open.next {
		dst = appendOpen(dst, open)
	}
	return dst
}

func appendOpen(dst []byte, open *openTxn) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(open.partition)))
	dst = append(dst, open.partition...)
	dst = binary.AppendVarint(dst, open.pos.Offset)
	dst = binary.AppendUvarint(dst, uint64(open.pos.Sub))
	var flags byte
	if open.hasStart {
		flags |= stateHasStart
	}
	if open.tooLong {
		flags |= stateTooLong
	}
	if open.early {
		flags |= stateEarly
	}
	if open.ended != nil {
		flags |= stateEnded
	}
	if open.stamped {
		flags |= stateWaited
	}
	dst = append(dst, flags)
	if open.stamped {
		dst = binary.AppendVarint(dst, open.waited)
	}
	if open.ended != nil {
		dst = appendEnd(dst, open.ended)
	}
	dst = binary.AppendVarint(dst, open.start)
	dst = binary.AppendUvarint(dst, uint64(open.head))
	dst = append(dst, open.text[:open.head]...)
	dst = binary.AppendUvarint(dst, uint64(len(open.ops)))
	for _, op := range open.ops {
		dst = binary.AppendUvarint(dst, uint64(op.index))
		dst = binary.AppendUvarint(dst, uint64(op.end-op.off))
		dst = append(dst, open.text[op.off:op.end]...)
	}
	return dst
}

// LoadState replaces what a holds by a state of AppendState. After an error a
// holds nothing. The limits of a stay, and are applied by the next Add.
func (a *Assembler) LoadState(state []byte) error {
	*a = Assembler{MaxOpen: a.MaxOpen, MaxBytes: a.MaxBytes, byID: make(map[Hash]*openTxn)}
	r := recordReader{rec: state}
	if v := r.byte(); r.err == nil && (v < 1 || v > assemblerVersion) {
		return fmt.Errorf("assembler state: version %d, this program reads %d", v, assemblerVersion)
	}
	a.evicted = r.uint()
	for n := r.count(7); n > 0 && r.err == nil; n-- {
		a.loadOpen(&r)
	}
	for _, s := range a.sources {
		s.orderWaits()
	}
	if r.err == nil && r.i != len(state) {
		r.fail("bytes behind the state")
	}
	if r.err != nil {
		*a = Assembler{MaxOpen: a.MaxOpen, MaxBytes: a.MaxBytes}
		return fmt.Errorf("assembler state: %w", r.err)
	}
	return nil
}

func (a *Assembler) loadOpen(r *recordReader) {
	open := a.newOpen()
	open.partition = string(r.bytes())
	open.pos.Offset, open.pos.Sub = r.int(), uint32(r.uint())
	flags := r.byte()
	open.hasStart, open.tooLong = flags&stateHasStart != 0, flags&stateTooLong != 0
	open.early = flags&stateEarly != 0
	if open.stamped = flags&stateWaited != 0; open.stamped {
		open.waited = r.int()
	}
	if flags&stateEnded != 0 {
		open.ended = loadEnd(r)
	}
	open.start = r.int()
	open.text = append(open.text, r.bytes()...)
	open.head = len(open.text)
	var b Batch
	if err := a.decoder.DecodeRecord(&b, Position{}, open.text); err != nil {
		r.fail(err.Error())
		return
	}
	t := &b.Txns[0]
	open.id = a.identity(&b, t.Source, t.Epoch, t.ID)
	if a.byID[open.id] != nil || t.NumOps != 0 {
		r.fail("a transaction is open twice, or its head holds operations")
		return
	}
	source := bytes.Clone(b.Bytes(t.Source)) // b is used again below
	next := uint64(0)
	for range r.count(3) {
		index, op := r.uint(), r.bytes()
		if index < next || index >= MaxOps {
			r.fail("operations are not in order")
			return
		}
		next = index + 1
		b.Reset()
		if err := a.decoder.decodeOp(&b, op); err != nil {
			r.fail(err.Error())
			return
		}
		off := uint32(len(open.text))
		open.text = append(open.text, op...)
		open.ops = append(open.ops, opAt{uint32(index), off, uint32(len(open.text))})
	}
	if r.err == nil {
		a.insert(open, source)
		if open.waits() {
			open.source.wait(open)
		}
	}
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
