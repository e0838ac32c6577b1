package group

import (
	"cmp"
	"slices"
	"time"
)

// A store may lose records: somebody deletes a bucket, or removes a folder. Then what this member remembers of a unit is no longer
// what the store has. Nothing here rests on that memory alone. A record that is gone is made again by an exclusive create. One that
// contradicts the memory is replaced by a compare-and-set on the version that was read. Either fails if the read was old. Terms
// grow over the loss, as far as some member remembers them.

// suspect is a record of a unit that does not go on from what was known. The read was old, or the store has lost records.
type suspect struct {
	index   int32
	version Version
	record  unitRecord
	above   uint64 // the term to go above
	line    bool   // the record is of another line than the one that was known
	damaged bool   // it cannot be read: record has what this member knows
	since   time.Duration
}

// patience is how many leases a member that does not own a unit waits until it replaces the unit's damaged record. An owner that lives has done so before, and
// any other one has lost its lease.
const patience = 2

// leastPatience is the least time of this wait. A store may show a damaged record some seconds late: see rereadAfter of store/file.
const leastPatience = 6 * time.Second

// waits says whether this member leaves a damaged record of a unit to the owner. The owner that it knows may live, or there may be another one.
func (m *Member) waits(now Instant, s *suspect) bool {
	u := &m.units[s.index]
	if u.hold != nil {
		return false
	}
	if u.owner >= 0 && u.owner != m.me {
		if p := &m.peers[u.owner]; !p.over && p.version != "" && p.missing < gone {
			return true
		}
	}
	return now.Mono-s.since < max(patience*m.cfg.Lease, leastPatience)
}

// damaged notes that a unit's record cannot be read. Its owner writes it again under a higher term. Without an owner it becomes free.
func (m *Member) damaged(now Instant, i int32, version Version) {
	u := &m.units[i]
	m.unreadable(&Value{Key: u.key, Version: version})
	m.suspects(suspect{index: i, version: version, record: unitRecord{born: u.born, lost: u.lost}, above: u.term, damaged: true, since: now.Mono})
}

// unreadable tells once that a record is damaged.
func (m *Member) unreadable(v *Value) {
	if was, told := m.damages[v.Key]; !told || was != v.Version {
		m.damages[v.Key] = v.Version
		m.tell(Event{Kind: Unreadable, Key: v.Key})
	}
}

// contradicts says whether the record does not go on from what is known. Terms grow, and within a term the release is the last
// change. All records of a line have the same text born.
func (m *Member) contradicts(u *unit, record *unitText) bool {
	switch {
	case u.term == 0, record.term > u.term && record.lost > u.lost: // somebody has told of a loss
		return false
	case record.term < u.term, u.born != "" && len(record.born) > 0 && u.born != string(record.born):
		return true
	case record.term > u.term || len(record.owner) == 0:
		return false
	}
	return u.owner < 0 || m.peers[u.owner].name != string(record.owner)
}

// same says whether the record says what is known.
func (m *Member) same(u *unit, v *Value) bool {
	if u.version != v.Version {
		return false
	}
	record, err := readUnit(v.Data)
	return err == nil && record.term == u.term && !m.contradicts(u, &record) && (u.owner < 0) == (len(record.owner) == 0)
}

func (m *Member) suspects(s suspect) {
	if !slices.ContainsFunc(m.suspected, func(x suspect) bool { return x.index == s.index && x.version == s.version }) {
		m.suspected = append(m.suspected, s)
	}
}

func find(values []Value, key string) (*Value, bool) {
	i, ok := slices.BinarySearchFunc(values, key, func(v Value, key string) int { return cmp.Compare(v.Key, key) })
	if !ok {
		return nil, false
	}
	return &values[i], true
}

// lift raises the term of each suspect that the list shows still. Its owner stays.
func (m *Member) lift(now Instant, values []Value) {
	all := m.suspected
	m.suspected = nil
	for _, s := range all {
		u := &m.units[s.index]
		if v, ok := find(values, u.key); !ok || v.Version != s.version {
			continue
		}
		m.suspected = append(m.suspected, s) // until the list shows another one
		if s.damaged && m.waits(now, &s) {
			continue
		}
		if s.record.term = max(u.term, s.above) + 1; s.damaged && u.hold != nil {
			s.record.owner = m.name
		}
		if s.line {
			s.record.lost = s.record.term
		}
		r := Request{Op: Update, Key: u.key, Version: s.version, Data: s.record.append(nil)}
		m.ask(r, pending{do: (*Member).wroteAgain, index: s.index, data: r.Data})
	}
}

// miss looks for units that were in the store, and are in it no more. Their owner makes the record again, under the next term. If it is
// gone too, whoever claims the unit does.
func (m *Member) miss(now Instant, values []Value) {
	if len(values) >= len(m.units) && !m.lacking {
		return
	}
	m.lacking = false
	for i := range m.units {
		u := &m.units[i]
		if u.version == "" {
			continue
		}
		if _, ok := find(values, u.key); ok {
			u.missing = 0
			continue
		}
		m.lacking = true
		if u.missing++; u.missing < gone {
			continue
		}
		m.changed = true
		leaves := u.hold != nil && (u.hold.to >= 0 || u.hold.toAnybody) // the release makes the record again
		if u.owner == m.me && !u.claims && !leaves && !m.leaving && m.Left(now) > 0 {
			u.claims = true
			record := unitRecord{term: u.term + 1, owner: m.name, born: u.born, lost: u.lost}
			if u.home >= 0 {
				record.home = m.ids.names[u.home]
			}
			r := m.put(u, record)
			m.ask(r, pending{do: (*Member).wroteAgain, index: int32(i), data: r.Data})
		}
	}
}

// put writes the record of a unit: a new one if the store has lost it.
func (m *Member) put(u *unit, record unitRecord) Request {
	r := Request{Op: Update, Key: u.key, Version: u.version, Data: record.append(nil)}
	if u.version == "" || u.missing >= gone {
		r.Op, r.Version = Create, ""
	}
	return r
}

// wroteAgain is the answer to a record in the place of a lost one. Without a success the next list shows how it stands.
func (m *Member) wroteAgain(now Instant, p pending, r Reply) {
	u := &m.units[p.index]
	u.claims = false
	if r.Err != nil {
		u.missing = 0 // old reads do not have it asked for again at once
		return
	}
	if record, err := readUnit(p.data); err == nil {
		m.tell(Event{Kind: Rewritten, Unit: u.name, Term: record.term})
	}
	m.apply(now, p.index, r.Value.Version, p.data)
}
