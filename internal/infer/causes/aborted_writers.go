package causes

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Somebody read a value, and all its recorded writers aborted: an aborted read. Where there were data
// before watching (start=existing), the value may have been there already. Where transactions without
// records write, one of them may have written the value. Then the read is of a value without a writer.
// There are three such cases. With unmonitored writers only the first one counts:
//
//   - Somebody had read the value when each of these writers began. Cause precedes effect.
//   - Plain values name their writers, no writer had found another value there, and the key
//     is not known to have held one. An insert may have failed on the value.
//   - Plain values name their writers, and a writer may try again what one without a record
//     did before the first record: TriedBefore.

// wasThere says whether the reader of d need not have read from the writers of its version, who all
// aborted. tried says that one of them may have tried again. by is the latest writer that it may have
// read from. Where the finding is not certain anyway, only cause and effect count. O(readers, writers).
func (s *Absences) wasThere(d ledger.Due) (was, tried bool, by uint32) {
	x := &s.Versions[d.Version]
	k := &s.Keys[x.Key]
	if !s.Opt.Existing && !s.Opt.UnmonitoredWriters || k.TellsVersions() {
		return false, false, s.Writes[x.Writes].Txn
	}
	sure := s.Certain()
	may := sure && s.Opt.Plain() && k.Kind <= event.Register && k.Flags&(ledger.Element|ledger.FoundNothing|ledger.Deleted) != ledger.Element|ledger.FoundNothing &&
		s.MayBeBaseline(d) &&
		!s.heldAnother(d)
	was = true
	for id := x.Writes; id != 0; id = s.Writes[id].NextOfVer {
		w := s.Writes[id].Txn
		tried = tried || sure && s.TriedBefore(d.Version, w)
		if there := s.readBeforeBegin(d.Version, w) || may && !s.foundAnother(w, id); !there {
			was = false
			if by == 0 {
				by = w
			}
		}
	}
	return was || tried, tried, by
}

// heldAnother says whether the key is known to have held another value before the reader of d.
func (s *Absences) heldAnother(d ledger.Due) bool {
	x, r := &s.Versions[d.Version], &s.Txns[d.Txn]
	return r.Flags&ledger.HasTimes != 0 && s.Signs.Stood.held(x.Key, heldBy(x.Hash, false), r.Start, s.Opt.ClockDrift)
}

// readBeforeBegin says whether somebody had read v when w began, or may have and is gone. A read that
// shows a later element of a list shows v too.
func (s *Absences) readBeforeBegin(v, w uint32) bool {
	if s.Versions[v].Flags&(ledger.Seen|ledger.LateReaders) != 0 {
		return true
	}
	for i := s.GlimpsesOf(v); i != 0; {
		g, older, open := s.GlimpseAt(i)
		if open && s.BeganBehind(w, g.Txn) {
			return true
		}
		i = older
	}
	for u := v; u != 0; u = s.Versions[u].Next {
		for r := s.Versions[u].Readers; r != 0; r = s.OlderReader(r) {
			if s.BeganBehind(w, s.Readers[r].Txn) {
				return true
			}
		}
	}
	return false
}

// BeganBehind says whether w began when r had ended, so that r did not read from it: by session order
// or by event time. Within the clock drift it may have, where values name writers as observed.
func (s *Absences) BeganBehind(w, r uint32) bool {
	x, y := &s.Txns[w], &s.Txns[r]
	if w == r {
		return false
	}
	timed := x.Flags&y.Flags&ledger.HasTimes != 0 && x.Start > y.End
	return timed && (s.Opt.Plain() || x.Start-y.End > s.Opt.ClockDrift) || beforeInSession(y, x)
}

// foundAnother says whether n, which aborted, found another value in the key before it made the write
// record id, or nothing. O(operations).
func (s *Absences) foundAnother(n, id uint32) bool {
	s.Scratch.Reset()
	if s.Decoder.DecodeRecord(&s.Scratch, event.Position{}, s.Records.Get(s.Txns[n].Record)) != nil {
		return false // not possible: the record was written by AppendRecord
	}
	t := &s.Scratch.Txns[0]
	x := &s.Versions[s.Writes[id].Version]
	ops := s.Scratch.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		if s.InEpoch(&s.Scratch, t, o.KeyHash) != s.Keys[x.Key].Hash {
			continue
		}
		switch {
		case o.Kind == event.Read:
			return o.Nothing() || o.ValueHash != x.Hash
		case o.Kind == event.CAS:
			if text, h := s.comparedWith(o); len(text) > 0 {
				return string(text) == "null" || h != x.Hash
			}
		case WritesVersion(o):
			return false
		}
	}
	return false
}
