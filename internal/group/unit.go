package group

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// unit is a unit as this member sees it.
type unit struct {
	name    string
	key     string  // of its record
	version Version // "": no record was seen
	term    uint64
	owner   int32  // among peers; -1: none
	next    int32  // whom it was released for; -1: anybody
	after   string // the owner whose lease was over when this member claimed the unit; "": it was free
	home    int32  // who had it before, and left or died, among ids; -1: nobody, or its owner
	closed  uint64 // terms up to this one are over for this member: it released or lost them
	claims  bool   // a claim is under way
	missing int    // lists in a row without it, since it was in one
	born    string // see unitRecord
	lost    uint64
	// survived is the term of a state that was there before the record of the unit: the store has lost that one only.
	survived uint64
	hold     *hold // nil: it is not this member's
}

// hold is a unit that this member owns.
type hold struct {
	term    uint64
	ready   bool    // the term is in the state: the caller was told of the unit
	missing bool    // there was no record of the state, though the unit had an owner before
	wrote   bool    // a write was asked for
	version Version // of the state's record; "": none
	number  uint64  // of the latest write that took effect
	through uint64  // by this write
	data    []byte  // of this write

	writing bool         // a request about the state is under way
	again   bool         // the state could not be read: the unit is among the member's again
	want    *stateRecord // to be written; nil: nothing

	to        int32 // whom it is to be handed to, among peers; -1: it stays
	toAnybody bool  // it is to be released for anybody
	yielded   bool  // the caller has stopped
	asked     bool  // a release is under way
}

// SetUnits says which units there are, beside those that the store has already: a unit stays once some member
// was told of it.
func (m *Member) SetUnits(names []string) {
	if len(m.units) == 0 {
		m.units, m.order, m.unitOf = make([]unit, 0, len(names)), make([]int32, 0, len(names)), make(map[string]int32, len(names))
	}
	for _, name := range names {
		m.unit(unitPrefix + escape(name))
	}
}

// unit is where the unit of this key is among units.
func (m *Member) unit(key string) int32 {
	if i, ok := m.unitOf[key]; ok {
		return i
	}
	i := int32(len(m.units))
	m.units = append(m.units, unit{key: key, name: unescape(key[len(unitPrefix):]), owner: -1, next: -1, home: -1})
	m.unitOf[key] = i
	m.order, m.changed = append(m.order, i), true
	m.unsorted = true
	return i
}

// owned is the unit of this name, if this member owns it.
func (m *Member) owned(name string) *unit {
	i, ok := m.unitOf[unitPrefix+escape(name)]
	if !ok || m.units[i].hold == nil {
		return nil
	}
	return &m.units[i]
}

// tookUnits looks at who owns what.
func (m *Member) tookUnits(now Instant, _ pending, r Reply) {
	if r.Err != nil {
		m.listing = 0
		return
	}
	m.listing = 1
	m.ask(Request{Op: List, Key: memberPrefix}, pending{do: (*Member).tookMembers, sent: now.Mono})
	m.lift(now, r.Values)
	same := m.listed[:min(len(m.listed), len(r.Values))]
	m.listed = r.Values
	for k := range r.Values {
		v := &r.Values[k]
		if k < len(same) && same[k].Version == v.Version && same[k].Key == v.Key && bytes.Equal(same[k].Data, v.Data) {
			continue // what it says was taken, or was old
		}
		if k >= len(m.seen) {
			m.seen = append(m.seen, m.unit(v.Key))
		} else if m.units[m.seen[k]].key != v.Key {
			m.seen = shifted(m.seen, k, m.unit(v.Key))
		}
		m.units[m.seen[k]].key = v.Key // the store's own text of it is compared faster the next time
		if i := m.seen[k]; !m.same(&m.units[i], v) {
			m.apply(now, i, v.Version, v.Data)
		}
	}
	m.miss(now, r.Values)
}

// apply takes what a unit's record says, unless that is old.
func (m *Member) apply(now Instant, i int32, version Version, data []byte) {
	u := &m.units[i]
	record, err := readUnit(data)
	if err != nil {
		m.damaged(now, i, version)
		return
	}
	if m.contradicts(u, &record) {
		m.suspects(suspect{index: i, version: version, record: unitRecord{owner: string(record.owner), next: string(record.next), home: string(record.home), born: string(record.born)}, above: u.term, line: true})
		return
	}
	u.version, u.term, u.owner, u.next, u.home, u.missing = version, record.term, -1, -1, -1, 0
	if len(record.owner) > 0 {
		u.owner = m.slotOf(record.owner)
	}
	if len(record.next) > 0 {
		u.next = m.slotOf(record.next)
	}
	if len(record.home) > 0 {
		u.home = m.ids.of(string(record.home))
	}
	if u.lost = record.lost; u.born != string(record.born) {
		u.born = string(record.born)
	}
	m.changed = true
	if u.owner < 0 && u.next == m.me {
		m.await(i)
	}
	switch {
	case u.hold != nil && record.term > u.hold.term:
		m.lose(u, string(record.owner))
	case u.hold != nil && u.owner < 0:
		u.closed, u.hold = u.hold.term, nil
		m.tell(Event{Kind: Handed, Unit: u.name, Term: u.closed})
	}
	if u.hold == nil && u.owner == m.me && record.term > u.closed {
		u.hold = &hold{term: record.term, to: -1}
		m.readState(i)
	}
}

// lose ends this member's term of a unit.
func (m *Member) lose(u *unit, to string) {
	u.closed = u.hold.term
	u.hold, m.changed = nil, true
	m.tell(Event{Kind: Lost, Unit: u.name, Term: u.closed, To: to})
}

// act claims what this member lacks, and begins to hand over what it has above its share.
func (m *Member) act(now Instant) {
	if m.listing > 0 || m.left {
		return
	}
	m.finish(now)
	if !m.changed {
		return
	}
	m.changed = false
	m.census()
	if m.leaving {
		m.giveAll()
		return
	}
	if len(m.living) == 0 || m.peers[m.me].place < 0 {
		return
	}
	m.survey()
	s := m.plan.divide()
	m.share = s.full
	for _, i := range s.claims {
		m.claim(now, i)
	}
	for _, g := range s.gives {
		m.yield(g.unit, m.living[g.to])
	}
	m.changed = m.changed || len(s.claims)+len(s.gives) > 0 // until it shows in the store
}

// finish releases what was yielded, and claims what was released for this member.
func (m *Member) finish(now Instant) {
	due := m.due[:0]
	for _, i := range m.due {
		u := &m.units[i]
		switch {
		case u.hold != nil && u.hold.yielded:
			m.release(i)
		case u.owner < 0 && u.next == m.me && u.version != "":
			if !m.leaving {
				m.claim(now, i)
			}
		default:
			continue
		}
		due = append(due, i)
	}
	m.due = due
}

// await has finish look at the unit.
func (m *Member) await(i int32) {
	if !slices.Contains(m.due, i) {
		m.due = append(m.due, i)
	}
}

// survey counts the load of the living, and what may be taken.
func (m *Member) survey() {
	if m.unsorted {
		slices.SortFunc(m.order, func(a, b int32) int { return strings.Compare(m.units[a].key, m.units[b].key) })
		m.unsorted = false
	}
	p := &m.plan
	p.load = slices.Grow(p.load[:0], len(m.living))[:len(m.living)]
	clear(p.load)
	p.pool, p.mine, p.lent, p.me, p.units = p.pool[:0], p.mine[:0], p.lent[:0], m.peers[m.me].place, len(m.units)
	p.has = 0
	for _, i := range m.order {
		u := &m.units[i]
		has := u.owner
		if has < 0 {
			has = u.next
		}
		if u.hold != nil && u.hold.to >= 0 {
			has = u.hold.to
		}
		switch {
		case has >= 0 && m.peers[has].place >= 0:
			place := m.peers[has].place
			p.load[place]++
			mine := u.hold != nil && u.hold.to < 0 && u.hold.ready
			if mine {
				p.has++
			}
			if home := m.home(u); home >= 0 && home != place {
				p.lent = append(p.lent, lent{i, place, home, mine})
			} else if mine {
				p.mine = append(p.mine, i)
			}
		case m.free(u):
			p.pool = append(p.pool, i)
		}
	}
}

// home is the place among the living of the member that had the unit before it left or died; -1: there is none.
func (m *Member) home(u *unit) int32 {
	if u.home < 0 {
		return -1
	}
	return m.ids.place[u.home]
}

// free says whether anybody may take the unit: it has no owner, or one whose lease is over.
func (m *Member) free(u *unit) bool {
	if u.owner >= 0 {
		return m.peers[u.owner].over
	}
	return u.next < 0 || m.peers[u.next].place < 0
}

// claim makes this member the owner, if the record is still as it was seen.
func (m *Member) claim(now Instant, i int32) {
	u := &m.units[i]
	if u.claims || u.hold != nil || m.Left(now) == 0 {
		return
	}
	u.claims = true
	record := unitRecord{term: u.term + 1, owner: m.name, born: u.born, lost: u.lost}
	if u.term == 0 {
		record.born = strconv.FormatUint(m.cfg.Random(), 36)
	}
	home := u.home
	u.after = ""
	if u.owner >= 0 { // its lease is over
		home, u.after = m.peers[u.owner].id, m.peers[u.owner].name
	}
	if home >= 0 && home != m.peers[m.me].id {
		record.home = m.ids.names[home]
	}
	r := m.put(u, record)
	m.ask(r, pending{do: (*Member).claimed, index: i, term: u.term + 1, data: r.Data})
}

// claimed: without a success the next list shows whose the unit is, and it may be this member's.
func (m *Member) claimed(now Instant, p pending, r Reply) {
	u := &m.units[p.index]
	u.claims, m.changed = false, true
	switch {
	case r.Err == nil && p.life == m.name:
		if u.missing >= gone {
			m.tell(Event{Kind: Rewritten, Unit: u.name, Term: p.term})
		}
		m.apply(now, p.index, r.Value.Version, p.data)
	case r.Err != nil && m.lease.planted == lostReplyIsFailure:
		u.closed = max(u.closed, p.term)
	}
}

// yield asks the caller to stop, for a release.
func (m *Member) yield(i, to int32) {
	u := &m.units[i]
	if u.hold == nil || !u.hold.ready || u.hold.to >= 0 || u.hold.toAnybody {
		return
	}
	u.hold.to, u.hold.toAnybody = to, to < 0
	m.tell(Event{Kind: Yield, Unit: u.name, Term: u.hold.term})
}

// Hand has the unit go to the member of that life, with the event Yield. It changes nothing if that member is not known, or over.
func (m *Member) Hand(name string, term uint64, to string) {
	u := m.owned(name)
	i, ok := m.peerOf[to]
	if u != nil && u.hold.term == term && ok && i != m.me && !m.peers[i].over {
		m.yield(m.unitOf[u.key], i)
	}
}

// giveAll hands over everything, to those that lack most, and ends the lease when nothing is left.
func (m *Member) giveAll() {
	m.changed = true // until all is done
	if !m.away {
		return
	}
	waits := false
	m.survey()
	p := &m.plan
	var quota, to []int32
	if len(m.living) > 0 {
		quota = p.quotas()
	}
	p.pool = p.pool[:0]
	for _, i := range m.order {
		u := &m.units[i]
		waits = waits || u.claims || u.hold != nil
		if u.hold == nil || !u.hold.ready || u.hold.to >= 0 || u.hold.toAnybody {
			continue
		}
		if home := m.home(u); home >= 0 && p.load[home] < quota[home] {
			p.load[home]++
			m.yield(i, m.living[home])
			continue
		}
		p.pool = append(p.pool, i)
	}
	if len(m.living) > 0 {
		to = p.receivers(quota, 0, int32(len(p.pool)))
	}
	for n, i := range p.pool {
		if n < len(to) {
			m.yield(i, m.living[to[n]])
		} else {
			m.yield(i, -1)
		}
	}
	if !waits && m.version != "" && !m.peers[m.me].marking && !m.renewing {
		m.peers[m.me].marking = true
		m.ask(Request{Op: Update, Key: memberPrefix + m.name, Version: m.version, Data: memberRecord{over: true}.append(nil)}, pending{do: (*Member).leftNow})
	}
}

func (m *Member) leftNow(_ Instant, p pending, r Reply) {
	m.peers[m.me].marking = false
	if p.life == m.name && r.Err == nil {
		m.left, m.lease.held = true, false
	}
}

// Yielded says that the caller has stopped, and committed what a successor needs. It delivers nothing of the unit
// any more.
func (m *Member) Yielded(name string, term uint64) {
	u := m.owned(name)
	if u == nil || u.hold.term != term || u.hold.to < 0 && !u.hold.toAnybody {
		return
	}
	u.hold.yielded = true
	m.await(m.unitOf[u.key])
	m.release(m.unitOf[u.key])
}

// release gives the unit up. Once it was sent it may take effect at any time, so there is no way back.
func (m *Member) release(i int32) {
	u := &m.units[i]
	h := u.hold
	if h.asked || h.writing || h.want != nil {
		return
	}
	record := unitRecord{term: h.term, born: u.born, lost: u.lost}
	home := u.home
	if m.leaving {
		home = m.peers[m.me].id
	}
	if h.to >= 0 {
		record.next = m.peers[h.to].name
	}
	if home >= 0 && (h.to < 0 || m.peers[h.to].id != u.home) {
		record.home = m.ids.names[home]
	}
	h.asked = true
	r := m.put(u, record)
	m.ask(r, pending{do: (*Member).released, index: i, term: h.term, data: r.Data})
}

func (m *Member) released(now Instant, p pending, r Reply) {
	u := &m.units[p.index]
	if u.hold == nil || u.hold.term != p.term || p.life != m.name {
		return
	}
	u.hold.asked = false
	if r.Err == nil {
		m.apply(now, p.index, r.Value.Version, p.data)
	}
}
