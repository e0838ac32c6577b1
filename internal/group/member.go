package group

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Config holds the settings of a member.
type Config struct {
	ID     string        // of the member; each of its lives has a name of its own, made of it
	Lease  time.Duration // its length
	Random func() uint64
}

// Event is something that the caller has to act on.
type Event struct {
	Kind EventKind
	Unit string
	Term uint64
	Data []byte // of Gained: the state that the owner before has left; nil: none
	// Missing is of Gained: the unit had an owner before, and its state is gone. Of Ended: the record of the lease is gone.
	Missing bool
	From    string // of Gained: the life of the owner before, if its lease is over
	To      string // of Lost: the member that has the unit now, if that is known
	Key     string // of Unreadable
	// Through is of Gained and Committed: findings up to this number are in the state, or were delivered.
	Through uint64
}

// EventKind says what an [Event] is.
type EventKind uint8

const (
	// Gained: this member watches the unit from now on.
	Gained EventKind = iota
	// Committed: what Commit gave is in the state.
	Committed
	// Yield: the unit is to be handed over. The caller commits what a successor needs, stops, and calls Yielded.
	Yield
	// Lost: another member has the unit, or may have it soon. Work that was not committed is void.
	Lost
	// Handed: the unit was handed over.
	Handed
	// Ended: the lease is over. All units are lost. The member joins again by itself.
	Ended
	// Rewritten: the store had lost the record of the unit, and this member has written it again.
	Rewritten
	// Unreadable: the record of this key is damaged. It is told once for each version.
	Unreadable
)

// Member is one member of a group. It is a state machine. Tick, Take and the calls about units change it.
// Requests and Events hand out the work of the caller.
type Member struct {
	cfg  Config
	name string // of this life

	lease    lease
	version  Version            // of the own record; "": it was not made yet
	number   uint64             // of the latest attempt to renew
	attempts map[uint64]Instant // when each was sent whose outcome is open
	renewing bool
	leaving  bool // no unit is taken any more
	away     bool // the own record tells it
	left     bool // the own lease was ended by this member

	polls   time.Duration // Mono of the next look at the store
	listing int           // lists under way
	looked  time.Duration // Mono of the latest list of leases
	asked   uint64        // requests
	pending map[uint64]pending

	peers   []peer
	peerOf  map[string]int32
	ids     ids
	me      int32   // among peers
	met     []int32 // peers in the order of the latest list: they are found faster
	living  []int32
	changed bool // something that the division depends on
	share   bool // at the latest division this member had its share

	units    []unit
	unitOf   map[string]int32 // by key
	order    []int32          // units by key
	again    []int32          // units whose state is to be read with the next look at the store
	unsorted bool             // order is not yet
	seen     []int32          // units in the order of the latest list: they are found faster
	listed   []Value          // the latest list of units: what is the same in the next one needs no look at its unit
	due      []int32          // units that wait for a release, or that were released for this member
	plan     planner

	suspected []suspect
	damages   map[string]Version // records that were told as unreadable
	lacking   bool               // the latest list of units lacked some that had been in one

	requests []Request
	events   []Event
}

// pending remembers a request until its answer.
type pending struct {
	do     func(m *Member, now Instant, p pending, r Reply)
	index  int32  // of a peer or a unit
	term   uint64 // of the unit, when it was asked
	number uint64
	away   bool          // of a renewal: it says that the member is about to leave
	sent   time.Duration // Mono; of a list of leases
	life   string        // that asked
	data   []byte        // that was to be written
}

// peer is the life of a member, as this one sees it.
type peer struct {
	name    string
	version Version // "": no record was seen
	since   time.Duration
	away    bool // it takes no unit
	over    bool
	missing int // lists in a row without it
	marking bool
	place   int32 // among the living; -1: not one of them
	id      int32 // of the member, among ids
	grave   bool  // its mark is being removed
}

// ids are the members that were met, by their escaped IDs. Each life of one has the same.
type ids struct {
	at    map[string]int32
	names []string
	place []int32 // of the member's life among the living; -1: it does not live
}

func (s *ids) of(id string) int32 {
	if i, ok := s.at[id]; ok {
		return i
	}
	i := int32(len(s.names))
	s.at[id], s.names, s.place = i, append(s.names, id), append(s.place, -1)
	return i
}

// gone is how many lists in a row must lack a lease, until it is taken as missing.
const gone = 2

// NewMember makes a member of a group. It joins with the first Tick.
func NewMember(c Config) *Member {
	m := &Member{cfg: c, attempts: map[uint64]Instant{}, pending: map[uint64]pending{}, peerOf: map[string]int32{}, unitOf: map[string]int32{}, damages: map[string]Version{}}
	m.ids.at = map[string]int32{}
	m.lease.length = c.Lease
	m.rename()
	return m
}

// rename begins another life, under a name that no life had.
func (m *Member) rename() {
	m.name = fmt.Sprintf("%s=7E%016x", escape(m.cfg.ID), m.cfg.Random()) // =7E is ~, see cutLife
	m.version, m.number, m.renewing, m.left, m.away = "", 0, false, false, false
	m.lease.held = false
	clear(m.attempts)
	m.me = m.slot(m.name)
	m.changed, m.share = true, false
}

// Name is the name of the member's present life. It begins with the escaped ID.
func (m *Member) Name() string { return m.name }

// Left is for how long no other member can have taken this one's units.
func (m *Member) Left(now Instant) time.Duration { return m.lease.left(now) }

// Requests are those since the last call.
func (m *Member) Requests() []Request {
	all := m.requests
	m.requests = nil
	return all
}

// Events are those since the last call.
func (m *Member) Events() []Event {
	all := m.events
	m.events = nil
	return all
}

// period is how long it is from one look at the store to the next.
func (m *Member) period() time.Duration { return m.cfg.Lease / pollPart }

func (m *Member) ask(r Request, p pending) {
	m.asked++
	r.ID = m.asked
	p.life = m.name
	m.pending[r.ID] = p
	m.requests = append(m.requests, r)
}

func (m *Member) tell(e Event) { m.events = append(m.events, e) }

// Tick says what time it is. It should come ten times in a lease or more often.
func (m *Member) Tick(now Instant) {
	if now.Mono < m.polls || m.left {
		return
	}
	jitter := time.Duration(m.cfg.Random() % uint64(m.period()/8+1))
	m.polls = now.Mono + m.period() - jitter
	m.renew(now)
	again := m.again
	m.again = nil
	for _, i := range again {
		if h := m.units[i].hold; h != nil && h.again {
			m.readState(i)
		}
	}
	if m.listing == 0 {
		m.listing = 2 // of units first: who releases one says before if it is about to leave
		m.ask(Request{Op: List, Key: unitPrefix}, pending{do: (*Member).tookUnits})
	}
}

// Take is the answer to a request.
func (m *Member) Take(now Instant, r Reply) {
	p, ok := m.pending[r.ID]
	if !ok {
		return
	}
	delete(m.pending, r.ID)
	if r.Err != nil && m.lease.planted == lostReplyIsFailure && !errors.Is(r.Err, ErrNotFound) {
		r.Err = ErrConflict
	}
	p.do(m, now, p, r)
}

// renew writes the own record with the next number.
func (m *Member) renew(now Instant) {
	if m.renewing {
		return
	}
	for n, sent := range m.attempts {
		if now.Mono-sent.Mono > m.cfg.Lease { // it would give nothing any more
			delete(m.attempts, n)
		}
	}
	m.renewing = true
	m.number++
	m.attempts[m.number] = now
	r := Request{Op: Update, Key: memberPrefix + m.name, Version: m.version, Data: memberRecord{number: m.number, away: m.leaving}.append(nil)}
	if m.version == "" {
		r.Op = Create
	}
	m.ask(r, pending{do: (*Member).renewed, number: m.number, away: m.leaving})
}

func (m *Member) renewed(now Instant, p pending, r Reply) {
	if p.life != m.name {
		return
	}
	if r.Err == nil {
		m.renewing = false
		m.away = p.away
		m.renewedAs(now, p.number, r.Value.Version)
		if m.leaving { // a slow store answers the lists before the renewals: the lease could never be ended there
			m.act(now)
		}
		return
	}
	// The error leaves that open. The record shows it.
	m.ask(Request{Op: Get, Key: memberPrefix + m.name}, pending{do: (*Member).readOwn})
}

func (m *Member) renewedAs(now Instant, number uint64, v Version) {
	m.version = v
	if sent, ok := m.attempts[number]; ok {
		m.lease.held, m.lease.since = true, sent
	}
	for n := range m.attempts {
		if n <= number {
			delete(m.attempts, n)
		}
	}
	me := &m.peers[m.me]
	if me.version == "" {
		m.changed = true
	}
	me.version, me.since = v, now.Mono
}

// readOwn learns from the own record what a renewal came to.
func (m *Member) readOwn(now Instant, p pending, r Reply) {
	if p.life != m.name {
		return
	}
	m.renewing = false
	record, err := memberRecord{}, r.Err
	if err == nil {
		record, err = readMember(r.Value.Data)
	}
	switch {
	case errors.Is(err, ErrRecord) && m.Left(now) > 0: // nobody can have marked it, so it is damaged: the next renewal writes it again
		m.unreadable(&r.Value)
		m.version = r.Value.Version
	case err == nil && record.over, errors.Is(err, ErrRecord):
		m.ended()
	case err == nil:
		m.away = record.away
		m.renewedAs(now, record.number, r.Value.Version)
	case errors.Is(err, ErrNotFound) && m.version != "":
		m.endedAs(Event{Kind: Ended, Missing: true})
	}
}

// ended gives up all units and joins under another name: some member has marked the lease as over.
func (m *Member) ended() { m.endedAs(Event{Kind: Ended}) }

func (m *Member) endedAs(e Event) {
	m.peers[m.me].over = true
	for i := range m.units {
		if u := &m.units[i]; u.hold != nil {
			m.lose(u, "")
		}
	}
	m.tell(e)
	m.rename()
}

// Leave ends the membership. The own record tells it first, so that nobody hands this member a unit. Then its
// units are handed over, and the lease ends. HasLeft says when that is.
func (m *Member) Leave() { m.leaving, m.changed, m.polls = true, true, 0 }

// HasShare says whether this member had its share of the units when it looked last.
func (m *Member) HasShare() bool { return m.share }

// HasLeft says whether all is handed over after Leave.
func (m *Member) HasLeft() bool { return m.left }

// slot is where a life is among peers.
func (m *Member) slot(name string) int32 {
	if i, ok := m.peerOf[name]; ok {
		return i
	}
	i := int32(len(m.peers))
	id, _ := cutLife(name)
	m.peers = append(m.peers, peer{name: name, place: -1, id: m.ids.of(id)})
	m.peerOf[name] = i
	return i
}

// slotOf is slot for a name that may have no text of its own.
func (m *Member) slotOf(name []byte) int32 {
	if i, ok := m.peerOf[string(name)]; ok {
		return i
	}
	return m.slot(string(name))
}

// tookMembers looks at the leases.
func (m *Member) tookMembers(now Instant, asked pending, r Reply) {
	m.listing--
	if r.Err != nil {
		return
	}
	blind := now.Mono-m.looked > m.cfg.Lease/2
	m.looked = now.Mono
	for i := range m.peers {
		m.peers[i].missing++
		m.changed = m.changed || m.peers[i].missing == gone // it counts as one of the living no more
		if blind {                                          // the store may have been away for all: only time in which this member looked counts
			m.peers[i].since = now.Mono
		}
	}
	for k := range r.Values {
		v := &r.Values[k]
		name := v.Key[len(memberPrefix):]
		if k >= len(m.met) {
			m.met = append(m.met, m.slot(name))
		} else if m.peers[m.met[k]].name != name {
			m.met = shifted(m.met, k, m.slot(name))
		}
		i := m.met[k]
		p := &m.peers[i]
		p.name = name                             // the store's own text of it is compared faster the next time
		m.changed = m.changed || p.missing > gone // it is back: a read was old
		p.missing = 0
		if p.over {
			m.markAgain(i, v)
			continue
		}
		if p.version == v.Version {
			continue
		}
		record, err := readMember(v.Data)
		if err != nil { // damaged, or of a later version of this program: it is over if it does not change
			m.unreadable(v)
			record.away = p.away
		}
		if p.version == "" || record.over || record.away != p.away {
			m.changed = true
		}
		p.version, p.since, p.away = v.Version, now.Mono, record.away
		if p.over = err == nil && record.over; p.over && i == m.me {
			m.ended()
		}
	}
	m.judge(asked.sent)
	m.act(now)
}

// shifted puts x at k, where another one is: what was at k is one place further, or is gone if x was behind it.
func shifted(list []int32, k int, x int32) []int32 {
	if k+1 < len(list) && list[k+1] == x {
		return slices.Delete(list, k, k+1)
	}
	return slices.Insert(list, k, x)
}

// judge marks leases as over that did not change for their length. The list that shows them so was asked for at
// that time, by Mono.
func (m *Member) judge(asked time.Duration) {
	for i := range m.peers {
		p := &m.peers[i]
		still := asked - p.since
		switch {
		case p.marking || int32(i) == m.me:
		case p.over:
			if p.missing == 0 && still > graveLeases*m.cfg.Lease && !m.names(int32(i)) && !p.grave {
				p.grave = true
				m.ask(Request{Op: Delete, Key: memberPrefix + p.name, Version: p.version}, pending{do: (*Member).marked, index: int32(i)})
			}
		case p.version == "": // known from a unit's record only
			if p.missing >= gone && m.names(int32(i)) {
				m.mark(int32(i), Create)
			}
		case still >= m.cfg.Lease+time.Duration(m.cfg.Random()%uint64(m.period()/2+1)):
			op := Update
			if p.missing >= gone { // nothing removes the record of a lease that is not over; but a store may lose it
				op = Create
			}
			m.mark(int32(i), op)
		}
	}
}

// names says whether some unit's record names the peer.
func (m *Member) names(i int32) bool {
	return slices.ContainsFunc(m.units, func(u unit) bool { return u.owner == i || u.next == i })
}

func (m *Member) mark(i int32, op Op) {
	p := &m.peers[i]
	p.marking = true
	m.ask(Request{Op: op, Key: memberPrefix + p.name, Version: p.version, Data: memberRecord{over: true}.append(nil)},
		pending{do: (*Member).marked, index: i})
}

// markAgain marks a lease as over whose mark is damaged.
func (m *Member) markAgain(i int32, v *Value) {
	if _, err := readMember(v.Data); err != nil && i != m.me && !m.peers[i].marking && !m.peers[i].grave {
		m.unreadable(v)
		m.peers[i].version = v.Version
		m.mark(i, Update)
	}
}

// marked is the answer to a mark. Anything but a success says nothing: the next list shows how it stands.
func (m *Member) marked(now Instant, p pending, r Reply) {
	x := &m.peers[p.index]
	x.marking = false
	if r.Err != nil || x.grave {
		return
	}
	x.over, x.version, x.since, m.changed = true, r.Value.Version, now.Mono, true
	m.act(now)
}

// census lists the living in the order of names.
func (m *Member) census() {
	m.living = m.living[:0]
	for i := range m.peers {
		p := &m.peers[i]
		p.place = -1
		if !p.over && p.version != "" && p.missing < gone && !p.away && !(int32(i) == m.me && m.leaving) {
			m.living = append(m.living, int32(i))
		}
	}
	slices.SortFunc(m.living, func(a, b int32) int { return strings.Compare(m.peers[a].name, m.peers[b].name) })
	for i := range m.ids.place {
		m.ids.place[i] = -1
	}
	for place, i := range m.living {
		m.peers[i].place = int32(place)
		m.ids.place[m.peers[i].id] = int32(place)
	}
}
