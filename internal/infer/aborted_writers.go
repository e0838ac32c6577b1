package infer

import "github.com/isowatch/isowatch/event"

// Somebody read a value, and all its recorded writers aborted: an aborted read. Where there were data
// before watching (start=existing), the value may have been there already. Where transactions without
// records write, one of them may have written the value. Then the read is of a value without a writer.
// There are three such cases. With unmonitored writers only the first one counts:
//
//   - Somebody had read the value when each of these writers began. Cause precedes effect.
//   - Plain values name their writers, no writer had found another value there, and the key
//     is not known to have held one. An insert may have failed on the value.
//   - Plain values name their writers, and a writer may try again what one without a record
//     did before the first record: triedBefore.

// wasThere says whether the reader of d need not have read from the writers of its version, who all
// aborted. tried says that one of them may have tried again. by is the latest writer that it may have
// read from. Where the finding is not certain anyway, only cause and effect count. O(readers, writers).
func (s *absences) wasThere(d due) (was, tried bool, by uint32) {
	x := &s.versions[d.version]
	k := &s.keys[x.key]
	if !s.opt.Existing && !s.opt.UnmonitoredWriters || k.tellsVersions() {
		return false, false, s.writes[x.writes].txn
	}
	sure := s.certain()
	may := sure && s.opt.plain() && k.kind <= event.Register && k.flags&(element|foundNothing|deleted) != element|foundNothing && s.mayBeBaseline(d) && !s.heldAnother(d)
	was = true
	for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
		w := s.writes[id].txn
		tried = tried || sure && s.triedBefore(d.version, w)
		if there := s.readBeforeBegin(d.version, w) || may && !s.foundAnother(w, id); !there {
			was = false
			if by == 0 {
				by = w
			}
		}
	}
	return was || tried, tried, by
}

// heldAnother says whether the key is known to have held another value before the reader of d.
func (s *absences) heldAnother(d due) bool {
	x, r := &s.versions[d.version], &s.txns[d.txn]
	return r.flags&hasTimes != 0 && s.signs.stood.held(x.key, heldBy(x.hash, false), r.start, s.opt.ClockDrift)
}

// readBeforeBegin says whether somebody had read v when w began, or may have and is gone. A read that
// shows a later element of a list shows v too.
func (s *absences) readBeforeBegin(v, w uint32) bool {
	if s.versions[v].flags&(seen|lateReaders) != 0 {
		return true
	}
	for i := s.glimpsesOf(v); i != 0; {
		g, older, open := s.glimpseAt(i)
		if open && s.beganBehind(w, g.txn) {
			return true
		}
		i = older
	}
	for u := v; u != 0; u = s.versions[u].next {
		for r := s.versions[u].readers; r != 0; r = s.olderReader(r) {
			if s.beganBehind(w, s.readers[r].txn) {
				return true
			}
		}
	}
	return false
}

// beganBehind says whether w began when r had ended, so that r did not read from it: by session order
// or by event time. Within the clock drift it may have, where values name writers as observed.
func (s *absences) beganBehind(w, r uint32) bool {
	x, y := &s.txns[w], &s.txns[r]
	if w == r {
		return false
	}
	timed := x.flags&y.flags&hasTimes != 0 && x.start > y.end
	return timed && (s.opt.plain() || x.start-y.end > s.opt.ClockDrift) || beforeInSession(y, x)
}

// foundAnother says whether n, which aborted, found another value in the key before it made the write
// record id, or nothing. O(operations).
func (s *absences) foundAnother(n, id uint32) bool {
	s.scratch.Reset()
	if s.decoder.DecodeRecord(&s.scratch, event.Position{}, s.records.get(s.txns[n].record)) != nil {
		return false // not possible: the record was written by AppendRecord
	}
	t := &s.scratch.Txns[0]
	x := &s.versions[s.writes[id].version]
	ops := s.scratch.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		if s.inEpoch(&s.scratch, t, o.KeyHash) != s.keys[x.key].hash {
			continue
		}
		switch {
		case o.Kind == event.Read:
			return o.Nothing() || o.ValueHash != x.hash
		case o.Kind == event.CAS:
			if text, h := s.comparedWith(o); len(text) > 0 {
				return string(text) == "null" || h != x.hash
			}
		case writesVersion(o):
			return false
		}
	}
	return false
}
