package engine

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
)

// Bounds of what is kept of records as they came in.
const (
	tapeParts   = 16       // pieces: the tape forgets one after the other
	tapeIDs     = 1 << 14  // records of one piece
	maxRaw      = 16 << 10 // of one record
	maxRaws     = 64 << 10 // of one finding
	maxRawsStep = 4 << 20  // of the findings of one step
)

// tape holds the messages that came last, as they came. A finding takes the records of its transactions from it
// when it is stored. A message costs a copy, and no transaction costs anything while it lives.
type tape struct {
	mu    sync.Mutex
	most  int      // bytes of a piece; 0: nothing is kept
	parts []*taped // the oldest first
}

// taped is a piece of the tape.
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
	id           uint64 // of the transaction's hash
	message, sub uint32
}

// add keeps messages of a partition. txns and pieces are their records, in the same order.
func (t *tape) add(partition, source string, messages []ingest.Message, txns []event.Txn, pieces []tapedPiece) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range messages {
		m := &messages[i]
		n, k := 0, 0
		for n < len(txns) && txns[n].Pos.Offset == m.Offset {
			n++
		}
		for k < len(pieces) && pieces[k].offset == m.Offset {
			k++
		}
		if n+k > 0 && len(m.Value) <= t.most && n+k <= tapeIDs {
			p := t.room(len(m.Value), n+k)
			from := uint32(len(p.bytes))
			p.bytes = append(p.bytes, m.Value...)
			at := uint32(len(p.messages))
			p.messages = append(p.messages, tapedMessage{partition, source, m.Offset, from, uint32(len(p.bytes))})
			for j := range txns[:n] {
				p.ids = append(p.ids, tapedID{txns[j].IDHash.Lo, at, txns[j].Pos.Sub})
			}
			for _, x := range pieces[:k] {
				p.ids = append(p.ids, tapedID{x.id, at, x.sub})
			}
		}
		txns, pieces = txns[n:], pieces[k:]
	}
}

// tapedPiece is a record of one operation.
type tapedPiece struct {
	id     uint64
	offset int64
	sub    uint32
}

func piecesOf(b *event.Batch, parts []event.Part) []tapedPiece {
	if len(parts) == 0 {
		return nil
	}
	all := make([]tapedPiece, len(parts))
	for i := range parts {
		all[i] = tapedPiece{event.HashText(b.Bytes(parts[i].ID)).Lo, parts[i].Pos.Offset, parts[i].Pos.Sub}
	}
	return all
}

// room is the newest piece, with room for so many bytes and records.
func (t *tape) room(bytes, ids int) *taped {
	if n := len(t.parts); n > 0 {
		if p := t.parts[n-1]; len(p.bytes)+bytes <= t.most && len(p.ids)+ids <= tapeIDs {
			return p
		}
	}
	p := &taped{}
	if len(t.parts) > 0 && len(t.parts) < tapeParts { // the first one filled up: so will this one
		p = &taped{make([]byte, 0, t.most), nil, nil}
	} else if len(t.parts) == tapeParts {
		p = t.parts[0]
		t.parts = append(t.parts[:0], t.parts[1:]...)
		clear(p.messages) // they name partitions
		p.bytes, p.messages, p.ids = p.bytes[:0], p.messages[:0], p.ids[:0]
	}
	t.parts = append(t.parts, p)
	return p
}

// memory is its size, bytes.
func (t *tape) memory() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.parts {
		n += int64(cap(p.bytes)) + int64(cap(p.ids))*16 + int64(cap(p.messages))*48
	}
	return n
}

// wanted are the ids of transactions whose records are looked for, by hash. few rules most others out.
type wanted struct {
	few  [1 << 10]uint64 // a bit for each hash, by its last 16 bits
	raws map[uint64][]finding.Raw
	of   map[uint64]string // id
}

func (w *wanted) add(id string) {
	h := event.HashText([]byte(id)).Lo
	w.few[h>>6&(1<<10-1)] |= 1 << (h & 63)
	w.of[h] = id
}

// find adds the records of wanted transactions of the source, the oldest first.
func (t *tape) find(source string, w *wanted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := maxRawsStep
	for _, p := range t.parts {
		for _, x := range p.ids {
			if w.few[x.id>>6&(1<<10-1)]>>(x.id&63)&1 == 0 {
				continue
			}
			id, ok := w.of[x.id]
			if !ok {
				continue
			}
			m := &p.messages[x.message]
			message := p.bytes[m.from:m.to]
			record := event.RecordIn(message, x.sub)
			if !isOf(message, record, m.source, source, id) {
				continue
			}
			at := event.Batch{Partitions: []string{m.partition}}
			r := rawOf(id, at.Where(event.Position{Offset: m.offset}), message, record)
			if left -= r.Size(); left < 0 {
				return
			}
			w.raws[x.id] = append(w.raws[x.id], r)
		}
	}
}

// isOf says whether the record of a message is of that transaction: ids of two sources may be equal.
func isOf(message, record []byte, byDefault, source, id string) bool {
	if event.IsProto(message) { // a message of this record alone
		record = append(binary.AppendUvarint([]byte{message[0]}, uint64(len(record))), record...)
	}
	var b event.Batch
	d := event.Decoder{Source: byDefault}
	d.DecodeMessage(&b, event.Position{}, record)
	switch {
	case len(b.Txns) == 1:
		return b.Text(b.Txns[0].ID) == id && b.Text(b.Txns[0].Source) == source
	case len(b.Parts) == 1:
		return b.Text(b.Parts[0].ID) == id && b.Text(b.Parts[0].Source) == source
	}
	return false
}

// rawOf is a record of a message, cut where it is long.
func rawOf(id, position string, message, record []byte) finding.Raw {
	r := finding.Raw{Txn: id, Position: position}
	proto := event.IsProto(message)
	if most := maxRaw; len(record) > most {
		for !proto && !utf8.RuneStart(record[most]) {
			most--
		}
		r.Cut = len(record) - most
		record = record[:most]
	}
	if proto {
		r.Bytes = append([]byte(nil), record...)
	} else {
		r.Text = string(record)
	}
	return r
}

// recorded are the transactions whose records show f: those that it names, and those that it rests on besides.
func recorded(f *finding.Finding) []string {
	ids := slices.Clone(f.Txns)
	for _, text := range f.History {
		var r struct {
			Txn string `json:"txn"`
		}
		if json.Unmarshal(text, &r) == nil && r.Txn != "" && !slices.Contains(ids, r.Txn) {
			ids = append(ids, r.Txn)
		}
	}
	return ids
}

// raws are the records of each finding as they came in, JSON; nil where none is left.
func (t *tape) raws(source string, findings []finding.Finding) [][]byte {
	if len(findings) == 0 {
		return nil
	}
	w := wanted{raws: map[uint64][]finding.Raw{}, of: map[uint64]string{}}
	of := make([][]string, len(findings))
	for i := range findings {
		of[i] = recorded(&findings[i])
		for _, id := range of[i] {
			w.add(id)
		}
	}
	if len(w.of) > 0 {
		t.find(source, &w)
	}
	all := make([][]byte, len(findings))
	for i, ids := range of {
		var list []finding.Raw
		left := maxRaws
		for _, id := range ids {
			for _, r := range w.raws[event.HashText([]byte(id)).Lo] {
				if left -= r.Size(); left >= 0 {
					list = append(list, r)
				}
			}
		}
		if len(list) > 0 {
			all[i], _ = json.Marshal(list) // texts and numbers: it cannot fail
		}
	}
	return all
}
