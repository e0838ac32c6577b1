package group

import (
	"bytes"
	"errors"
	"time"
)

// lostState stands in the place of a state that is missing, until the owner writes one with the gap. A release that does not know
// it takes it for a damaged state.
var lostState = []byte("the state is missing")

// readState begins or goes on with what is to be done about a unit's state: it is read before it is written.
func (m *Member) readState(i int32) {
	h := m.units[i].hold
	h.writing, h.again = true, false
	m.ask(Request{Op: Get, Key: m.stateKey(i)}, pending{do: (*Member).tookState, index: i, term: h.term})
}

func (m *Member) stateKey(i int32) string { return statePrefix + m.units[i].key[len(unitPrefix):] }

// of is the hold that a request was for; nil if that is over.
func (m *Member) of(p pending) *hold {
	h := m.units[p.index].hold
	if h == nil || h.term != p.term || p.life != m.name {
		return nil
	}
	return h
}

func (m *Member) tookState(_ Instant, p pending, r Reply) {
	h := m.of(p)
	if h == nil {
		return
	}
	u := &m.units[p.index]
	h.writing = false
	record, err := stateRecord{}, r.Err
	if err == nil {
		record, err = readState(r.Value.Data)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		h.version, h.missing = "", h.missing || h.term > 1 && !h.ready
	case r.Err == nil && errors.Is(err, ErrRecord): // it is damaged: there is nothing to go on from, and its version can be replaced
		h.version, h.missing = r.Value.Version, h.missing || !h.ready
	case err != nil:
		h.again = true
		m.again = append(m.again, p.index)
		return
	case (record.term > h.term || record.term == h.term && !h.wrote) && m.lease.planted != noTermOnWrites:
		// Another member has the unit by now. Or the store has lost the unit's record, and this one is of a line that began again.
		u.survived = record.term
		m.suspects(suspect{index: p.index, version: u.version, record: unitRecord{owner: m.name, born: u.born, lost: u.lost}, above: record.term})
		m.lose(u, "")
		return
	default:
		h.version = r.Value.Version
		h.missing = h.missing && record.term == h.term // of an earlier term: a read before that lacked it was old
		if bytes.Equal(record.data, lostState) {
			h.missing = true // an owner before met that, and ended first
		}
		if record.term < u.lost && record.term != u.survived {
			h.missing = true // whoever began it did not know of the state before
		}
	}
	if record.term == h.term { // only this member writes under this term: it is one of its own writes
		m.wrote(p.index, record)
	} else if !h.ready {
		h.number, h.through, h.data = record.number, record.through, record.data
		if h.missing {
			h.through = 0
		}
	}
	m.writeState(p.index)
}

// writeState writes what is due: the term first, and then what Commit gave.
func (m *Member) writeState(i int32) {
	h := m.units[i].hold
	var next stateRecord
	switch {
	case h.writing:
		return
	case !h.ready:
		next = stateRecord{h.term, h.number + 1, h.through, h.data}
		if h.missing {
			next.data = lostState
		}
	case h.want != nil:
		next = *h.want
	default:
		return
	}
	h.writing, h.wrote = true, true
	r := Request{Op: Update, Key: m.stateKey(i), Version: h.version, Data: next.append(nil)}
	if h.version == "" {
		r.Op = Create
	}
	m.ask(r, pending{do: (*Member).stateWritten, index: i, term: h.term, data: r.Data})
}

func (m *Member) stateWritten(_ Instant, p pending, r Reply) {
	h := m.of(p)
	if h == nil {
		return
	}
	if r.Err != nil { // what took effect stands in the record
		m.readState(p.index)
		return
	}
	h.writing = false
	h.version = r.Value.Version
	record, _ := readState(p.data) // it was made here
	m.wrote(p.index, record)
	m.writeState(p.index)
}

// wrote: the record took effect.
func (m *Member) wrote(i int32, record stateRecord) {
	u := &m.units[i]
	h := u.hold
	if record.number <= h.number && h.ready {
		return
	}
	h.number, h.through, h.data = record.number, record.through, record.data
	if !h.ready {
		h.ready, m.changed = true, true
		if h.missing {
			h.data = nil
		}
		m.tell(Event{Kind: Gained, Unit: u.name, Term: h.term, Data: h.data, Through: h.through, Missing: h.missing, From: u.after})
		return
	}
	if h.want != nil && record.number >= h.want.number {
		h.want = nil
		m.tell(Event{Kind: Committed, Unit: u.name, Term: h.term, Through: h.through})
	}
}

// Commit stores what a successor needs to come to the findings up to the number through, and to deliver those
// that were not. It says whether it was begun: the term must be the present one, and the write before must have
// ended, with the event Committed.
func (m *Member) Commit(name string, term uint64, data []byte, through uint64) bool {
	u := m.owned(name)
	if u == nil || u.hold.term != term || !u.hold.ready || u.hold.want != nil || u.hold.yielded {
		return false
	}
	u.hold.want = &stateRecord{u.hold.term, u.hold.number + 1, through, data}
	m.writeState(m.unitOf[u.key])
	return true
}

// May is for how long a delivery of a finding may take that begins now: 0 if it must not begin. The finding
// must be in the state, by its number, under this member's term.
func (m *Member) May(now Instant, name string, term, number uint64) time.Duration {
	u := m.owned(name)
	if u == nil || u.hold.term != term || !u.hold.ready || u.hold.yielded {
		return 0
	}
	if number > u.hold.through && m.lease.planted != deliveryBeforeState {
		return 0
	}
	return m.lease.left(now)
}
