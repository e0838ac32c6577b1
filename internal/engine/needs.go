package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// Each piece of retained state that the machines put out is one record under source, kind and hash. It
// is stored in pieces of deltaPart bytes, with its length before the first.
//
// Why recovery gets the same answers. The delta of a step holds the records read for it. So a replay
// reads nothing from here, where records may be newer than the snapshot that it starts from. When the
// replay reaches the head, machine and records agree. Every put of a step is in the transaction that
// wrote its head, or in one before. A step that was cut off before its head may have left some of its
// puts. They do not count: a step puts and deletes only state that was in memory when it began
// (package window). State in memory is never read from here.

// putKey names piece part of a record.
func putKey(dst []byte, source int, ref infer.Ref, part int) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(source)) // below maxSources
	dst = append(dst, byte(ref.Kind))
	dst = binary.BigEndian.AppendUint64(dst, ref.Hash.Lo)
	dst = binary.BigEndian.AppendUint64(dst, ref.Hash.Hi)
	return append(dst, byte(part)) // at most 16 MiB and a little in pieces of 512 KiB
}

// sourcePut is a put of the source with that number.
type sourcePut struct {
	source int
	window.Put
}

// eachPiece calls fn with the entries of the put.
func (p *sourcePut) eachPiece(fn func(store.Entry) error) error {
	if p.Value == nil {
		for part := 0; part <= p.Size/deltaPart; part++ {
			if err := fn(store.Entry{Space: spaceSpill, Key: putKey(nil, p.source, p.Ref, part), Delete: true}); err != nil {
				return err
			}
		}
		return nil
	}
	rest := append(binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(p.Value)), uint32(len(p.Value))), p.Value...)
	for part := 0; len(rest) > 0; part++ {
		n := min(len(rest), deltaPart)
		if err := fn(store.Entry{Space: spaceSpill, Key: putKey(nil, p.source, p.Ref, part), Value: rest[:n]}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// uncommitted are the puts of a step on its way to the disk: reads for the steps
// behind it must see them.
type uncommitted struct {
	step uint64
	puts map[putName][]byte // nil: deleted
}

type putName struct {
	source int
	ref    infer.Ref
}

// pend notes the puts of the step in work until it is committed.
func (e *Engine) pend(puts []sourcePut) {
	e.step++
	if len(puts) == 0 {
		return
	}
	u := uncommitted{e.step, make(map[putName][]byte, len(puts))}
	for i := range puts {
		u.puts[putName{puts[i].source, puts[i].Ref}] = puts[i].Value
	}
	e.pending = append(e.pending, u)
}

// puts appends what the machines put out in the step in work.
func (e *Engine) puts(dst []sourcePut) []sourcePut {
	for i, x := range e.sources.list {
		for _, p := range x.effects.Puts {
			dst = append(dst, sourcePut{i, p})
		}
	}
	return dst
}

// answer reads what the machines need for the step. The reads of some sources may fail: faults has one
// entry a source.
func (e *Engine) answer(st *step) (faults []error, err error) {
	faults = make([]error, len(e.sources.list))
	st.answers = st.answers[:0]
	for i, x := range e.sources.list {
		if i < cap(st.answers) {
			st.answers = st.answers[:i+1] // with its memory
		} else {
			st.answers = append(st.answers, window.Answers{})
		}
		a := &st.answers[i]
		a.Reset()
		if x.Stopped != "" || len(x.txns) == 0 { // only records need what went out
			continue
		}
		err := guarded(func() error { return e.answerFor(i, x, st, a) })
		if asFault(err) == nil && err != nil {
			return faults, err
		}
		faults[i] = err
	}
	return faults, nil
}

// answerFor reads what one machine needs.
func (e *Engine) answerFor(index int, x *source, st *step, a *window.Answers) error {
	for {
		var err error
		if e.needs, err = x.machine.Needs(&st.batch, x.txns, a, e.needs[:0]); err != nil {
			return fmt.Errorf("source %s: %w", x.name, err)
		}
		if len(e.needs) == 0 {
			return nil
		}
		if err := e.read(index, e.needs, a); err != nil {
			return fmt.Errorf("source %s: retained state: %w", x.name, err)
		}
	}
}

// read appends an answer for each of the needs of a source.
func (e *Engine) read(source int, needs []infer.Ref, a *window.Answers) error {
	for len(e.pending) > 0 && e.pending[0].step <= e.committed.Load() {
		e.pending = e.pending[1:]
	}
	base := len(a.List)
	var keys [][]byte
	var places []int
	for i, ref := range needs {
		a.Add(ref, nil)
		value, ok := e.onItsWay(putName{source, ref})
		if ok {
			a.List[base+i].Record = value
			continue
		}
		keys = append(keys, putKey(nil, source, ref, 0))
		places = append(places, base+i)
	}
	e.reads.Add(int64(len(keys)))
	return e.store.GetAll(spaceSpill, keys, func(i int, value []byte) error {
		if value == nil {
			return nil
		}
		x := &a.List[places[i]]
		if len(value) < 4 {
			return infer.ErrRecord
		}
		size := int(binary.LittleEndian.Uint32(value))
		x.Record = append(make([]byte, 0, min(size, 17<<20)), value[4:]...)
		for part := 1; len(x.Record) < size; part++ {
			more, err := e.store.Get(spaceSpill, putKey(nil, source, x.Ref, part))
			if err != nil {
				return err
			}
			if len(more) == 0 {
				return infer.ErrRecord
			}
			x.Record = append(x.Record, more...)
		}
		if len(x.Record) != size {
			return infer.ErrRecord
		}
		return nil
	})
}

// onItsWay returns the value that a step not committed yet put under the name, latest first; ok is
// false when there is no such step.
func (e *Engine) onItsWay(name putName) (value []byte, ok bool) {
	for i := len(e.pending) - 1; i >= 0; i-- {
		if value, ok = e.pending[i].puts[name]; ok {
			return value, true
		}
	}
	return nil, false
}

// appendAnswers writes the answers of each source that has any.
func appendAnswers(dst []byte, all []window.Answers) []byte {
	for i := range all {
		if len(all[i].List) == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(i)+1)
		dst = binary.AppendUvarint(dst, uint64(len(all[i].List)))
		for j := range all[i].List {
			x := &all[i].List[j]
			dst = append(dst, byte(x.Ref.Kind))
			dst = binary.LittleEndian.AppendUint64(dst, x.Ref.Hash.Lo)
			dst = binary.LittleEndian.AppendUint64(dst, x.Ref.Hash.Hi)
			dst = binary.AppendUvarint(dst, uint64(len(x.Record))) // no record is empty
			dst = append(dst, x.Record...)
		}
	}
	return append(dst, 0)
}

func readAnswers(r *deltaReader) (all []window.Answers) {
	for i := r.uint(); i > 0 && r.err == nil; i = r.uint() {
		if i > maxSources {
			r.err = errDelta
			return nil
		}
		for uint64(len(all)) < i {
			all = append(all, window.Answers{})
		}
		for n := r.uint(); n > 0 && r.err == nil; n-- {
			head := r.bytes(17)
			record := r.bytes(r.uint())
			if r.err != nil {
				return nil
			}
			ref := infer.Ref{Kind: infer.RecordKind(head[0])}
			ref.Hash.Lo, ref.Hash.Hi = binary.LittleEndian.Uint64(head[1:]), binary.LittleEndian.Uint64(head[9:])
			if len(record) == 0 {
				record = nil
			}
			all[i-1].Add(ref, record)
		}
	}
	return all
}
