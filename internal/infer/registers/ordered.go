package registers

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// readVersion takes a read where versions are told by their texts: one without a text
// says nothing, but that nothing was found.
func (s *Registers) readVersion(b *event.Batch, n, i, k uint32, o *event.Op) {
	version, _ := causes.VersionOf(b, o)
	c := s.TouchOf(k)
	switch {
	case len(version) > 0:
		s.ReadNamed(n, i, k, version, o.ValueHash)
	case o.Flags&event.NotFound != 0 && c.Flags&(causes.Untold|causes.Wrote) != causes.Untold:
		s.ReadValue(c, n, i, event.Hash{}, true)
	default: // also an empty read that follows one whose version is not told: that one may have seen another version
		if c.Flags&causes.HasRead == 0 {
			c.Flags |= causes.Untold
		}
		s.Counters.Ambiguous++
		s.ReadOpen(n, ledger.OpenNameless)
	}
}

// ReadNamed takes a read of the version with this text, which holds the value.
func (s *Registers) ReadNamed(n, i, k uint32, version []byte, value event.Hash) {
	c := s.TouchOf(k)
	if c.Flags&causes.Nameless != 0 && c.Flags&(causes.Wrote|causes.HasRead) != 0 || c.Flags&(causes.Untold|causes.Wrote) == causes.Untold {
		s.Counters.Ambiguous++ // perhaps what it wrote or read itself
		s.ReadOpen(n, ledger.OpenNameless)
		return
	}
	h := ledger.VersionIdentity(version)
	if c.Flags&(causes.HasRead|causes.Wrote) == 0 && s.ofOwnRow(c, h) {
		s.ReadRow(n)
		return
	}
	s.NoteVersion(k, value, h)
	s.ReadValue(c, n, i, h, false)
	s.NumberText(k, s.InternVersion(k, h), n, version)
}

// replaces takes the version that a write says it replaced, and puts it into c.ReadLen. If the
// transaction has not read the key before, the version counts as read.
func (s *Registers) replaces(b *event.Batch, c *causes.Touch, n, i uint32, o *event.Op) {
	_, prev := causes.VersionOf(b, o)
	if len(prev) == 0 || c.Flags&causes.Nameless != 0 {
		return
	}
	h := ledger.VersionIdentity(prev)
	if s.ofOwnRow(c, h) {
		return // the transaction wrote another column before, and may have read this one
	}
	if c.Flags&causes.Wrote != 0 {
		if v := s.LookupVersion(c.Key, h); h != c.Current && (v == 0 || v != c.ReadVer && v != c.ReadLen) {
			s.Counters.Ambiguous++ // the version of another transaction, and it should be its own
		}
		return
	}
	v := s.InternVersion(c.Key, h)
	s.NumberText(c.Key, v, n, prev)
	if c.Flags&causes.HasRead == 0 {
		s.ReadValue(c, n, i, h, false)
	} else if c.ReadVer != v {
		c.ReadLen = v
		s.Readers[s.AddReader(n, v, i)].How = ledger.Named
	}
}
