package kafka

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/isowatch/isowatch/ingest"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// maxRun is the number of value bytes after which a run is cut: a compressed
// batch of 1 MiB can hold a hundred times that.
const maxRun = 1 << 20

// run is messages that leave as one chunk.
type run struct {
	messages []ingest.Message
	next     int64 // the position behind them
}

// reading walks the batches of one fetch response. The messages of its runs
// are copies: the batches' own memory goes back to kafka-go's pool.
type reading struct {
	from  int64 // what was asked for; a batch may begin before it
	next  int64 // first offset not yet covered, from at first
	holes bool  // a jump between batches is nothing special (compacted topic)

	runs []run
	// jump is where the batch begins that was found instead of next; 0 when
	// there was none. Nothing behind it was read.
	jump int64

	aborted []fetch.ResponseTransaction // by first offset, those still ahead
	open    map[int64]bool              // producers in an aborted transaction

	block []byte // values of the last run are slices of it
	bytes int    // of values in the last run
	hint  size   // what one response held before, to size the next
}

type size struct{ messages, bytes int }

// read covers set, the answer to a fetch at r.from.
func (r *reading) read(set protocol.RecordSet, aborted []fetch.ResponseTransaction) error {
	if set.Records == nil {
		return nil
	}
	stream, ok := set.Records.(*protocol.RecordStream)
	if !ok {
		stream = &protocol.RecordStream{Records: []protocol.RecordReader{set.Records}}
	}
	r.aborted = slices.Clone(aborted)
	slices.SortFunc(r.aborted, func(a, b fetch.ResponseTransaction) int {
		return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1))
	})
	for _, batch := range stream.Records {
		if err := r.batch(batch); err != nil {
			return err
		}
		if r.jump != 0 {
			return nil
		}
	}
	r.flush()
	return nil
}

func (r *reading) batch(batch protocol.RecordReader) error {
	switch b := batch.(type) {
	case *protocol.ControlBatch:
		if r.jumped(b.BaseOffset) {
			return nil
		}
		r.begin(b.BaseOffset)
		err := r.control(b)
		r.cover(b.BaseOffset)
		return err
	case *protocol.RecordBatch:
		if r.jumped(b.BaseOffset) {
			return nil
		}
		r.begin(b.BaseOffset)
		err := r.data(b, b.Attributes.Transactional() && r.open[b.ProducerID])
		r.cover(b.BaseOffset)
		return err
	default: // the formats before Kafka 0.11 know neither base nor producer
		return r.data(batch, false)
	}
}

// jumped tells whether the batch at base leaves out r.next, and where that
// matters stops the reading in front of it.
func (r *reading) jumped(base int64) bool {
	if base <= r.next || r.holes {
		return false
	}
	r.flush()
	r.jump = base
	return true
}

// cover moves behind offset. The base of a batch is covered after its records. Where all of
// them were compacted away, it is the only trace of its extent (kafka-go does not show the last
// offset).
func (r *reading) cover(offset int64) { r.next = max(r.next, offset+1) }

// begin opens the aborted transactions that have started at offset. A
// transaction starts with a batch, so comparing bases is enough.
func (r *reading) begin(offset int64) {
	for len(r.aborted) > 0 && r.aborted[0].FirstOffset <= offset {
		if r.open == nil {
			r.open = make(map[int64]bool)
		}
		r.open[r.aborted[0].ProducerID] = true
		r.aborted = r.aborted[1:]
	}
}

// Types of control records (Kafka's ControlRecordType).
const abortMarker = 0

// control covers b; an abort marker closes its producer's transaction.
func (r *reading) control(b *protocol.ControlBatch) error {
	for {
		c, err := b.ReadControlRecord()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("control batch at offset %d: %w", b.BaseOffset, err)
		}
		r.cover(c.Offset)
		if c.Type == abortMarker {
			delete(r.open, b.ProducerID)
		}
	}
}

// data copies the records of one batch, or skips them.
func (r *reading) data(batch protocol.RecordReader, skip bool) error {
	for {
		rec, err := batch.ReadRecord()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("record at or after offset %d: %w", r.next, err)
		}
		if rec.Key != nil {
			rec.Key.Close()
		}
		if !skip && rec.Offset >= r.from {
			err = r.add(rec)
		}
		if rec.Value != nil {
			rec.Value.Close()
		}
		if err != nil {
			return fmt.Errorf("record at offset %d: %w", rec.Offset, err)
		}
		r.cover(rec.Offset)
	}
}

// add copies rec into the last run.
func (r *reading) add(rec *protocol.Record) error {
	n := 0
	if rec.Value != nil {
		n = rec.Value.Len()
	}
	if r.bytes > 0 && r.bytes+n > maxRun {
		r.flush()
	}
	if len(r.runs) == 0 || r.runs[len(r.runs)-1].next != unfinished {
		r.runs = append(r.runs, run{messages: make([]ingest.Message, 0, max(r.hint.messages, 8)), next: unfinished})
		r.bytes = 0
	}
	if cap(r.block)-len(r.block) < n {
		r.block = make([]byte, 0, max(n, r.blockSize()))
	}
	start := len(r.block)
	r.block = r.block[:start+n]
	value := r.block[start : start+n : start+n]
	if n > 0 {
		if _, err := io.ReadFull(rec.Value, value); err != nil {
			return err
		}
	}
	r.bytes += n
	last := &r.runs[len(r.runs)-1]
	last.messages = append(last.messages, ingest.Message{Offset: rec.Offset, Value: value})
	return nil
}

// blockSize doubles what the run holds so far, so that a run takes few blocks
// and a slow topic pins little memory.
func (r *reading) blockSize() int {
	if r.bytes == 0 && r.hint.bytes > 0 {
		return min(r.hint.bytes+r.hint.bytes/8, maxRun)
	}
	return min(max(2*r.bytes, 4<<10), maxRun)
}

// unfinished marks the run that add appends to.
const unfinished = -1

// flush ends the last run at r.next. The next run gets a block of its own, so
// that a receiver who keeps one message pins one run.
func (r *reading) flush() {
	if n := len(r.runs); n > 0 && r.runs[n-1].next == unfinished {
		r.runs[n-1].next = r.next
	}
	r.block, r.bytes = nil, 0
}
