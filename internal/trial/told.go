package trial

import (
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/event"
)

// Operations may tell the version of what they read or wrote, and of what they replaced. In the
// whole history a version is known by that. It is left out of the parts, except commit timestamps: there a
// read counts where its value names the same transaction.

// Numbers says which numbers order the versions of a key.
type Numbers uint8

const (
	NoNumbers  Numbers = iota
	ByVersion          // the versions themselves
	ByCommitTS         // the commit timestamps of the writers
)

// told is the version of a write, and the one that it replaced, as far as the operation tells them.
type told struct {
	version, prev int32
	number        int64 // of the version
	numbered      bool
}

// meetVersions numbers the versions that writes tell. A second attempt may tell one again.
func (h *History) meetVersions(in *Input, kinds map[string]kind) {
	for i := range in.Records {
		for j := range in.Records[i].Ops {
			o := &in.Records[i].Ops[j]
			k := kinds[o.Key]
			if o.Version == "" || o.Kind == event.Range || o.Kind == event.Read || k != register && k != counter {
				continue
			}
			x := &h.cells[h.cellOf(o.Key, "", k)]
			if x.told == nil {
				x.told = map[string]int32{}
			}
			if _, met := x.told[o.Version]; !met {
				x.told[o.Version] = int32(len(x.told)) + 1
			}
		}
	}
}

// tell notes what o tells of its write. It is false where o replaced a version that nobody tells,
// or behind an own write a version that is not the own one.
func (r *reading) tell(w *write, o *event.RecordOp) bool {
	x := &r.h.cells[w.cell]
	w.version = x.told[o.Version]
	if w.prev = x.told[o.PrevVersion]; w.prev == 0 && o.PrevVersion != "" {
		return false
	}
	if own, again := r.local[w.cell]; again && w.prev != 0 && w.prev != own.version {
		return false // another one replaced its own write in between
	}
	switch r.number {
	case ByVersion:
		if w.numbered = o.Version != ""; !w.numbered {
			return true
		}
		n, err := strconv.ParseInt(strings.Trim(o.Version, `"`), 10, 64)
		w.number = n
		return err == nil
	case ByCommitTS:
		if o.Kind != event.Inc { // the order of counters is their own
			w.told = r.stamped(w.told)
		}
	}
	return true
}

// stamped is w with the number that a trusted commit timestamp gives it.
func (r *reading) stamped(w told) told {
	if r.number == ByCommitTS {
		w.number, w.numbered = r.record.CommitTS, r.record.Flags&event.HasCommitTS != 0
	}
	return w
}

// unnamed is a value that was read with a version that no write tells.
type unnamed struct{ cell, value int32 }

// untold notes that a read of the value told a version that no write tells. It is false if that
// says more than the value: a read of the value told another such version, or found nothing.
func (h *History) untold(c, value int32, version string) bool {
	if value == 0 {
		return false
	}
	if h.unnamed == nil {
		h.unnamed = map[unnamed]string{}
	}
	was, met := h.unnamed[unnamed{c, value}]
	h.unnamed[unnamed{c, value}] = version
	return !met || was == version
}

// settleVersions is false where such a value has another writer than one that tells no version.
func (h *History) settleVersions() bool {
	writers := map[unnamed]int{}
	for i := range h.txns {
		for _, w := range h.txns[i].writes {
			v := unnamed{w.cell, w.value}
			if _, met := h.unnamed[v]; !met {
				continue
			}
			if writers[v]++; w.version != 0 || writers[v] > 1 {
				return false
			}
		}
	}
	return true
}

// fitsTold says whether the transaction, as the next of the order, replaces what it says, and
// its versions follow by their numbers.
func (s *search) fitsTold(at int) bool {
	if !s.p.told && s.p.h.numbers != ByCommitTS {
		return true
	}
	t := s.txn(at)
	for i := range t.writes {
		w := &t.writes[i]
		c := &s.cells[w.cell]
		if s.p.told && w.prev != 0 && c.last().told != w.prev || w.numbered && !c.below(w.number) {
			return false
		}
	}
	return true
}

// below says whether the latest version that has a number has a lower one.
func (c *contents) below(number int64) bool {
	for i := len(c.versions) - 1; i >= 0; i-- {
		if v := &c.versions[i]; v.numbered {
			return v.number < number
		}
	}
	return true
}

// named says whether the value of an observation that counts in a part names the writer of its version.
// Where versions are told, values may be told in part, and repeat.
func (h *History) named(s *observation) bool {
	x := &h.cells[s.cell]
	switch {
	case s.how == showed && s.value == 0:
		return true
	case x.told == nil:
		return x.kind != register || h.numbers != ByVersion
	}
	if s.how != showed || s.told == 0 {
		return false
	}
	for _, i := range x.writers {
		t := &h.txns[i]
		if t.passes(s.cell, s.value) {
			return false
		}
		for _, w := range t.writes {
			if w.cell == s.cell && (w.value == s.value) != (w.version == s.told) {
				return false
			}
		}
	}
	return true
}
