// Package tape finds the records of findings as they came in, before anything was decoded.
package tape

import (
	"bytes"
	"sync"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
)

// Bounds of what is kept of records as they came in.
const (
	numParts   = 16       // pieces: the tape forgets one after the other
	maxIDs     = 1 << 14  // records of one piece
	maxRecord  = 16 << 10 // bytes of one record
	MaxFinding = 64 << 10 // bytes of the records of one finding
	maxSearch  = 4 << 20  // and of one search
)

// Tape holds the messages that came last, as they came. A finding takes the records of its transactions from it
// when it is stored. A message costs a copy, and no transaction costs anything while it lives.
type Tape struct {
	Bytes int64 // that are kept; 0: none
	mu    sync.Mutex
	parts []*taped // the oldest first
}

// most is how many bytes a part has.
func (t *Tape) most() int { return int(t.Bytes / numParts) }

// taped is a part of the tape.
type taped struct {
	bytes    []byte
	messages []tapedMessage
	ids      []tapedID
}

type tapedMessage struct {
	partition, source string
	offset            int64
	from, to          uint32 // in bytes
}

// tapedID is a record: a whole transaction, or a piece of one.
type tapedID struct {
	member       uint64 // its hash
	message, sub uint32
}

// Add keeps messages of a partition. txns and parts of b are their records, in the same order. Records that name no
// source are of byDefault.
func (t *Tape) Add(partition, byDefault string, messages []ingest.Message, b *event.Batch, txns []event.Txn, parts []event.Part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var named []byte // the source of the record before
	var source event.Hash
	hashOf := func(name event.Span, id event.Hash) uint64 {
		if text := b.Bytes(name); named == nil || !bytes.Equal(text, named) {
			named, source = text, event.HashText(text)
		}
		return memberHash(source, id)
	}
	for i := range messages {
		m := &messages[i]
		n, k := 0, 0
		for n < len(txns) && txns[n].Pos.Offset == m.Offset {
			n++
		}
		for k < len(parts) && parts[k].Pos.Offset == m.Offset {
			k++
		}
		if n+k > 0 && len(m.Value) <= t.most() && n+k <= maxIDs {
			p := t.room(len(m.Value), n+k)
			from := uint32(len(p.bytes))
			p.bytes = append(p.bytes, m.Value...)
			at := uint32(len(p.messages))
			p.messages = append(p.messages, tapedMessage{partition, byDefault, m.Offset, from, uint32(len(p.bytes))})
			for j := range txns[:n] {
				p.ids = append(p.ids, tapedID{hashOf(txns[j].Source, txns[j].IDHash), at, txns[j].Pos.Sub})
			}
			for j := range parts[:k] {
				p.ids = append(p.ids, tapedID{hashOf(parts[j].Source, event.HashText(b.Bytes(parts[j].ID))), at, parts[j].Pos.Sub})
			}
		}
		txns, parts = txns[n:], parts[k:]
	}
}

// room is the newest piece, with room for so many bytes and records.
func (t *Tape) room(bytes, ids int) *taped {
	if n := len(t.parts); n > 0 {
		if p := t.parts[n-1]; len(p.bytes)+bytes <= t.most() && len(p.ids)+ids <= maxIDs {
			return p
		}
	}
	p := &taped{}
	if len(t.parts) > 0 && len(t.parts) < numParts { // the first one filled up: so will this one
		p = &taped{make([]byte, 0, t.most()), nil, nil}
	} else if len(t.parts) == numParts {
		p = t.parts[0]
		t.parts = append(t.parts[:0], t.parts[1:]...)
		clear(p.messages) // they name partitions
		p.bytes, p.messages, p.ids = p.bytes[:0], p.messages[:0], p.ids[:0]
	}
	t.parts = append(t.parts, p)
	return p
}

// Memory is its size, bytes.
func (t *Tape) Memory() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.parts {
		n += int64(cap(p.bytes)) + int64(cap(p.ids))*16 + int64(cap(p.messages))*48
	}
	return n
}

// Find gives the search the records that it looks for, the oldest first.
func (t *Tape) Find(s *Search) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.parts {
		for _, x := range p.ids {
			if !s.members.has(x.member) {
				continue
			}
			m := &p.messages[x.message]
			message := p.bytes[m.from:m.to]
			at := event.Batch{Partitions: []string{m.partition}}
			s.take(message, event.RecordIn(message, x.sub), m.source, at.Where(event.Position{Offset: m.offset}))
		}
	}
}
