package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/window"
)

// step is one unit of work, as the machines get it: decoded transactions by
// source, gaps, bad records and the tick.
type step struct {
	tick  int64
	batch event.Batch
	gaps  []window.Gap
	bad   int64
	end   bool // the input has ended
	pause bool // the service ends, and may go on with the input later
	// configs take effect before everything else. They belong to sources that this step meets, and to
	// sources met before that get a new configuration.
	configs []sourceConfig
	// stands is the news of the readers, by partition of the batch; it may be
	// shorter.
	stands []window.Standing
	// answers hold the records read for the step, by source.
	answers []window.Answers
	// holds belong to the sources with transactions in assembly.
	holds []sourceHold
	// faults are the effects of faults of the program on the step.
	faults []faultEntry
	// owned has the source of each partition of the batch that holds records of one source alone. Losses alone enter the delta: see own.
	owned map[uint32]string
}

// sourceHold bounds a source's watermark while transactions are in assembly, ns: during the step, and
// after it.
type sourceHold struct {
	source        string
	during, after int64
}

// concernsAll says whether the step has news for each source, records of its own or not.
func (s *step) concernsAll() bool {
	return len(s.gaps)+len(s.configs)+len(s.faults)+len(s.batch.Marks) > 0 || s.bad > 0 || s.end || s.pause
}

// sourceConfig is the configuration of a source's machine.
type sourceConfig struct {
	source string
	config []byte // window.Config, JSON
}

// A step may be the last one of the input, or of a life of the service.
const (
	deltaEnd   = 1 // the input
	deltaPause = 2 // a life of the service
)

// appendDelta writes everything that a machine needs to do the step again:
//
// - the tick and the changed configurations;
// - the partitions with the news of their readers;
// - the bounds of watermarks, and lost input;
// - every transaction in compact form with its position, in order;
// - the records that were read for the step.
//
// The delta's length goes before it: pieces of a longer one that was cut off may lie behind. The batch
// must be packed.
func appendDelta(dst []byte, s *step) []byte {
	begin := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	dst = binary.AppendVarint(dst, s.tick)
	dst = binary.AppendVarint(dst, s.bad)
	switch {
	case s.end:
		dst = append(dst, deltaEnd)
	case s.pause:
		dst = append(dst, deltaPause)
	default:
		dst = append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.configs)))
	for _, c := range s.configs {
		dst = appendText(dst, c.source)
		dst = appendText(dst, string(c.config))
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.batch.Partitions)))
	for _, name := range s.batch.Partitions {
		dst = appendText(dst, name)
	}
	for i := range s.batch.Partitions {
		news := window.NoNews
		if i < len(s.stands) {
			news = s.stands[i]
		}
		dst = append(dst, byte(news))
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.holds)))
	for _, h := range s.holds {
		dst = appendText(dst, h.source)
		dst = binary.AppendVarint(dst, h.during)
		dst = binary.AppendVarint(dst, h.after)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.gaps)))
	for _, g := range s.gaps {
		dst = appendGap(dst, &g)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.batch.Txns)))
	for i := range s.batch.Txns {
		t := &s.batch.Txns[i]
		dst = binary.AppendUvarint(dst, uint64(t.Pos.Partition))
		dst = binary.AppendVarint(dst, t.Pos.Offset)
		dst = binary.AppendUvarint(dst, uint64(t.Pos.Sub))
		record := s.batch.PackedRecord(t)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(record)))
		dst = append(dst, record...)
	}
	dst = appendAnswers(dst, s.answers)
	dst = appendMarks(dst, s.batch.Marks, len(s.faults) > 0)
	dst = appendFaults(dst, s.faults)
	binary.LittleEndian.PutUint64(dst[begin:], uint64(len(dst)-begin-8))
	return dst
}

// appendMarks writes nothing unless there are marks or more follows. So older deltas, which know no
// marks, have the same form.
func appendMarks(dst []byte, marks []event.Mark, more bool) []byte {
	if len(marks) == 0 && !more {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(marks)))
	for i := range marks {
		m := &marks[i]
		for _, s := range [...]string{m.Source, m.Epoch, m.Name, m.Text} {
			dst = appendText(dst, s)
		}
		dst = binary.AppendVarint(dst, m.Start)
		dst = binary.AppendVarint(dst, m.End)
		if m.HasEnd {
			dst = append(dst, 1)
		} else {
			dst = append(dst, 0)
		}
		dst = binary.AppendUvarint(dst, uint64(m.Before))
	}
	return dst
}

func readMarks(r *deltaReader) (marks []event.Mark) {
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		m := event.Mark{Source: r.text(), Epoch: r.text(), Name: r.text(), Text: r.text(), Start: r.int(), End: r.int()}
		if ended := r.bytes(1); len(ended) == 1 {
			m.HasEnd = ended[0] == 1
		}
		m.Before = uint32(r.uint())
		marks = append(marks, m)
	}
	return marks
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

var errDelta = errors.New("delta is damaged")

// deltaReader reads what appendDelta wrote. The first error stays.
type deltaReader struct {
	b   []byte
	err error
}

func (r *deltaReader) uint() uint64 {
	n, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.err = errDelta
		r.b = nil
		return 0
	}
	r.b = r.b[k:]
	return n
}

func (r *deltaReader) int() int64 {
	n, k := binary.Varint(r.b)
	if k <= 0 {
		r.err = errDelta
		r.b = nil
		return 0
	}
	r.b = r.b[k:]
	return n
}

func (r *deltaReader) bytes(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.b)) {
		r.err = errDelta
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *deltaReader) text() string { return string(r.bytes(r.uint())) }

// readDelta fills s with the step that b holds.
func readDelta(d *event.Decoder, s *step, b []byte) error {
	if len(b) < 8 || binary.LittleEndian.Uint64(b) > uint64(len(b)-8) {
		return errDelta
	}
	r := &deltaReader{b: b[8 : 8+binary.LittleEndian.Uint64(b)]}
	s.batch.Reset()
	s.gaps = s.gaps[:0]
	s.tick, s.bad = r.int(), r.int()
	if last := r.bytes(1); len(last) == 1 {
		s.end, s.pause = last[0] == deltaEnd, last[0] == deltaPause
	}
	s.configs = s.configs[:0]
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		s.configs = append(s.configs, sourceConfig{r.text(), []byte(r.text())})
	}
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		s.batch.Partitions = append(s.batch.Partitions, r.text())
	}
	s.stands = s.stands[:0]
	for _, news := range r.bytes(uint64(len(s.batch.Partitions))) {
		s.stands = append(s.stands, window.Standing(news))
	}
	s.holds = s.holds[:0]
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		s.holds = append(s.holds, sourceHold{r.text(), r.int(), r.int()})
	}
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		s.gaps = append(s.gaps, readGap(r))
	}
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		pos := event.Position{Partition: uint32(r.uint()), Offset: r.int(), Sub: uint32(r.uint())}
		size := r.bytes(4)
		if r.err != nil {
			break
		}
		rec := r.bytes(uint64(binary.LittleEndian.Uint32(size)))
		if r.err != nil {
			break
		}
		if int(pos.Partition) >= len(s.batch.Partitions) {
			return fmt.Errorf("%w: partition %d of %d", errDelta, pos.Partition, len(s.batch.Partitions))
		}
		if err := d.DecodeRecord(&s.batch, pos, rec); err != nil {
			return fmt.Errorf("%w: %w", errDelta, err)
		}
	}
	s.answers = readAnswers(r)
	if len(r.b) > 0 {
		s.batch.Marks = readMarks(r)
	}
	s.faults = s.faults[:0]
	if len(r.b) > 0 {
		s.faults = readFaults(r)
	}
	if r.err == nil && len(r.b) > 0 {
		return fmt.Errorf("%w: %d bytes too long", errDelta, len(r.b))
	}
	return r.err
}
