package event

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The state of an assembler, version 1; integers and texts are those of the
// compact record.
//
//	byte  assemblerVersion
//	uint  evicted
//	uint  number of open transactions, and each of them by order of arrival:
//	  text  partition
//	  int   offset
//	  uint  sub
//	  byte  1: has start, 2: too long
//	  int   start
//	  text  compact record without operations
//	  uint  number of operations, and of each its index as uint, and a text
const assemblerVersion = 1

const (
	stateHasStart = 1 << iota
	stateTooLong
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
	dst = append(dst, flags)
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
	if v := r.byte(); r.err == nil && v != assemblerVersion {
		return fmt.Errorf("assembler state: version %d, this program reads %d", v, assemblerVersion)
	}
	a.evicted = r.uint()
	for n := r.count(7); n > 0 && r.err == nil; n-- {
		a.loadOpen(&r)
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
	}
}
