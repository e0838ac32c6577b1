package tape

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// Search looks for the records of findings among those that it is given.
type Search struct {
	ids     hashes // of ids: a line does not tell its source before it is decoded
	members hashes // of members: many sources may count their transactions alike
	raws    map[member][]finding.Raw
	of      [][]member // by finding
	left    int        // bytes that it takes yet
}

// member is a transaction of a finding: ids of two sources may be equal.
type member struct{ source, id string }

// memberHash is the hash of a member, of the hashes of its source and its id.
func memberHash(source, id event.Hash) uint64 { return source.Hi ^ id.Lo }

// hashes are those that are looked for.
type hashes struct {
	few [1 << 10]uint64 // a bit for each hash, by its last 16 bits: it rules most others out
	all map[uint64]struct{}
}

func (s *hashes) add(h uint64) {
	s.few[h>>6&(1<<10-1)] |= 1 << (h & 63)
	s.all[h] = struct{}{}
}

// has says whether h is looked for.
func (s *hashes) has(h uint64) bool {
	if s.few[h>>6&(1<<10-1)]>>(h&63)&1 == 0 {
		return false
	}
	_, ok := s.all[h]
	return ok
}

// NewSearch looks for the records of the findings.
func NewSearch(findings []finding.Finding) *Search {
	s := &Search{raws: map[member][]finding.Raw{}, of: make([][]member, len(findings)), left: maxSearch}
	s.ids.all, s.members.all = map[uint64]struct{}{}, map[uint64]struct{}{}
	for i := range findings {
		f := &findings[i]
		source := event.HashText([]byte(f.Source))
		for _, id := range recorded(f) {
			m := member{f.Source, id}
			h := event.HashText([]byte(id))
			s.ids.add(h.Lo)
			s.members.add(memberHash(source, h))
			s.raws[m] = nil
			s.of[i] = append(s.of[i], m)
		}
	}
	return s
}

// Idle says whether it looks for nothing.
func (s *Search) Idle() bool { return len(s.ids.all) == 0 }

// recorded are the transactions whose records show f: those that it names, and those that it rests on besides.
func recorded(f *finding.Finding) []string {
	ids := slices.Clone(f.Txns)
	for _, text := range f.History {
		if id := idOf(text); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// idOf is the id of a record of a finding's history, "" if it has none. Most begin with it.
func idOf(record []byte) string {
	if rest, first := bytes.CutPrefix(record, []byte(`{"txn":"`)); first {
		if id, _, ends := bytes.Cut(rest, []byte{'"'}); ends && bytes.IndexByte(id, '\\') < 0 {
			return string(id)
		}
	}
	var r struct {
		Txn string `json:"txn"`
	}
	if json.Unmarshal(record, &r) != nil {
		return ""
	}
	return r.Txn
}

// Line takes a message of one record, where it is looked for. Records that name no source are of byDefault.
func (s *Search) Line(message []byte, byDefault, position string) {
	if event.IsProto(message) || s.mayBe(message) {
		s.take(message, event.RecordIn(message, 0), byDefault, position)
	}
}

// mostRecords of a message are looked through by Message.
const mostRecords = 1000

// Message takes the records of a message that are looked for. Records that name no source are of byDefault.
func (s *Search) Message(message []byte, byDefault, position string) {
	for sub := range uint32(mostRecords) {
		record := event.RecordIn(message, sub)
		if record == nil {
			return
		}
		if event.IsProto(message) || s.mayBe(record) {
			s.take(message, record, byDefault, position)
		}
	}
}

// mayBe says whether a record in JSON may be looked for, without decoding it.
func (s *Search) mayBe(record []byte) bool {
	if bytes.IndexByte(record, '\\') >= 0 {
		return true // names and ids can be written in other ways
	}
	name := []byte(`"txn"`)
	for at := bytes.Index(record, name); at >= 0; at = bytes.Index(record, name) {
		record = record[at+len(name):]
		value, ok := bytes.CutPrefix(bytes.TrimLeft(record, ": \t\r"), []byte{'"'})
		if !ok {
			continue
		}
		if id, _, ok := bytes.Cut(value, []byte{'"'}); ok && s.ids.has(event.HashText(id).Lo) {
			return true
		}
	}
	return false
}

// take takes a record of a message, where it is looked for.
func (s *Search) take(message, record []byte, byDefault, position string) {
	proto := event.IsProto(message)
	whole := record
	if proto { // a message of this record alone
		whole = append(binary.AppendUvarint([]byte{message[0]}, uint64(len(record))), record...)
	}
	var b event.Batch
	d := event.Decoder{Source: byDefault}
	d.DecodeMessage(&b, event.Position{}, whole)
	switch {
	case len(b.Txns) == 1:
		s.Take(b.Text(b.Txns[0].Source), b.Text(b.Txns[0].ID), position, record, proto)
	case len(b.Parts) == 1:
		s.Take(b.Text(b.Parts[0].Source), b.Text(b.Parts[0].ID), position, record, proto)
	}
}

// Take takes a record of a transaction, where it is looked for. Text that is too long is cut.
func (s *Search) Take(source, id, position string, record []byte, binary bool) {
	m := member{source, id}
	list, wanted := s.raws[m]
	if !wanted || s.left < 0 {
		return
	}
	r := finding.Raw{Txn: id, Position: position}
	if most := maxRecord; len(record) > most {
		for !binary && !utf8.RuneStart(record[most]) {
			most--
		}
		r.Cut = len(record) - most
		record = record[:most]
	}
	if binary {
		r.Bytes = append([]byte(nil), record...)
	} else {
		r.Text = string(record)
	}
	if s.left -= r.Size(); s.left >= 0 {
		s.raws[m] = append(list, r)
	}
}

// Raws are the records of each finding as they came in, within the bound.
func (s *Search) Raws() [][]finding.Raw {
	all := make([][]finding.Raw, len(s.of))
	for i, members := range s.of {
		left := MaxFinding
		for _, m := range members {
			for _, r := range s.raws[m] {
				if left -= r.Size(); left >= 0 {
					all[i] = append(all[i], r)
				}
			}
		}
	}
	return all
}
