package group

import (
	"bytes"
	"strings"
)

// Standing is how a unit stands, as a member sees it.
type Standing struct {
	Unit  string
	Owner string // the owner's ID, "": none
	Mine  bool   // also while this member does not know yet whether it may act as the owner
	// Alive says that the owner has renewed its lease within its length.
	Alive bool
	Term  uint64
}

// Units says how the units stand.
func (m *Member) Units(now Instant) []Standing {
	all := make([]Standing, len(m.units))
	for i := range m.units {
		u := &m.units[i]
		all[i] = Standing{Unit: u.name, Mine: u.hold != nil || u.owner == m.me, Term: u.term}
		if u.owner >= 0 {
			p := &m.peers[u.owner]
			all[i].Owner, all[i].Alive = IDOf(p.name), !p.over && p.version != "" && now.Mono-p.since < m.cfg.Lease
		}
	}
	return all
}

// MemberOf reads a lease: the ID of its member, and whether it is not over.
func MemberOf(v Value) (id string, live bool) {
	r, err := readMember(v.Data)
	return IDOf(strings.TrimPrefix(v.Key, memberPrefix)), err == nil && !r.over
}

// Readable says whether the record of a lease can be read.
func Readable(v Value) bool {
	_, err := readMember(v.Data)
	return err == nil
}

// IDOf is the ID of the member with a life of this name.
func IDOf(life string) string {
	id, _ := cutLife(life)
	return unescape(id)
}

// cutLife cuts a life's name into the escaped ID of its member and the rest. Between them is an escaped ~.
func cutLife(name string) (id, rest string) {
	if i := strings.LastIndex(name, "=7E"); i >= 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// UnitKey is the key of the record that says who owns the unit.
func UnitKey(unit string) string { return unitPrefix + escape(unit) }

// StateKey is the key of the record with the unit's state.
func StateKey(unit string) string { return statePrefix + escape(unit) }

// UnitOf is the unit of a key.
func UnitOf(key string) string {
	_, name, _ := strings.Cut(key, "/")
	return unescape(name)
}

// OwnerOf reads the record of a unit: the life that owns it, "" for none, and the term.
func OwnerOf(v Value) (life string, term uint64, err error) {
	r, err := readUnit(v.Data)
	return string(r.owner), r.term, err
}

// StateOf reads the state of a unit: what Commit was given. nil: nothing yet, or it is missing.
func StateOf(v Value) ([]byte, error) {
	r, err := readState(v.Data)
	if bytes.Equal(r.data, lostState) {
		r.data = nil
	}
	return bytes.Clone(r.data), err
}
