package infer

import (
	"math"

	"github.com/isowatch/isowatch/event"
)

// A question about the absence of a record is decided when the watermark has passed the end of the
// transaction that raised it. Until then the record may still come. A transaction that nobody has heard
// of is waited for longer, by the patience. The wait ends earlier if all transactions that began by
// then are known to have come (sessions=closed).

type dueKind uint32

const (
	missingWriter   dueKind = iota // version was read, and its known writers all aborted
	unheardWriter                  // version was read, and no writer at all is known
	shownTwice                     // version was shown twice by one list read
	ownFuture                      // txn read an element that it appended later
	missingSeq                     // a member before txn in its session has not come
	writerAgain                    // as unheardWriter, whether or not the version is accused
	stillShownTwice                // as shownTwice, when no record of the append had come
)

// due is a question and when to answer it.
type due struct {
	at      int64
	txn     uint32
	gen     uint32
	version uint32
	op      uint32
	kind    dueKind
	order   uint32 // in which they were asked
}

func (s *ledger) wait(at int64, n, version, op uint32, kind dueKind) {
	s.txns[n].due++
	if kind == missingSeq {
		s.sessions[s.txns[n].session].refs++
	}
	if version != 0 {
		s.versions[version].due++
	}
	s.absence.push(at, n, s.txns[n].gen, version, op, kind)
}

func (s *absences) await(v, n, op uint32) { s.wait(s.txns[n].end, n, v, op, missingWriter) }

func (s *absences) suspectDuplicate(v, n, op uint32) { s.wait(s.txns[n].end, n, v, op, shownTwice) }

func (s *absences) suspectFuture(v, n, op uint32) {
	if s.versions[v].flags&nothing == 0 { // "nothing" stays the value if nobody has deleted
		s.wait(s.txns[n].end, n, v, op, ownFuture)
	}
}

// askPatiently asks d again, since nobody has heard of its writer.
func (s *absences) askPatiently(d due, kind dueKind) {
	s.txns[d.txn].due++
	s.versions[d.version].due++
	s.patient.asked = s.absence.asked
	s.patient.push(s.txns[d.txn].end, d.txn, s.txns[d.txn].gen, d.version, d.op, kind)
	s.absence.asked = s.patient.asked
}

// Undecided says whether some question can be answered: the watermark now has passed it, or all
// transactions that began before gone have come.
func (s *absences) Undecided(now, gone int64) bool {
	return s.absence.before(now) || s.patient.before(s.patientLimit(now, gone))
}

// patientLimit is a time. If a reader ended before it, the reader's unheard writer would have come by
// now. gone is math.MinInt64 where it is not known.
func (s *absences) patientLimit(now, gone int64) int64 {
	limit := now
	if now >= math.MinInt64+s.Patience() {
		limit = now - s.Patience()
	}
	if drift := int64(s.opt.ClockDrift); gone >= math.MinInt64+drift {
		limit = max(limit, gone-drift)
	}
	return min(limit, now)
}

// Decide answers those questions.
func (s *registers) Decide(now, gone int64, out *Out) {
	s.begin(out)
	for limit := s.patientLimit(now, gone); ; {
		var d due
		switch p := s.patient.before(limit); {
		case s.absence.before(now) && !(p && s.patient.heap[0].at+s.Patience() < s.absence.heap[0].at):
			d = s.absence.pop()
		case p:
			d = s.patient.pop()
		default:
			return
		}
		t := &s.txns[d.txn]
		t.due--
		if d.kind == missingSeq {
			s.sessions[t.session].refs--
		}
		if d.version != 0 {
			s.versions[d.version].due--
		}
		if t.state == counted || d.kind == missingSeq && t.id != (event.Hash{}) {
			s.decide(d)
		}
		s.release(d.txn)
		if d.version != 0 {
			s.dropIfUnused(d.version)
		}
	}
}

func (s *registers) decide(d due) {
	x := &s.versions[d.version]
	if d.version != 0 && s.keys[x.key].flags&(unsupported|repeats) != 0 {
		return // nothing is concluded about the key any more, and it is counted
	}
	switch d.kind {
	case missingSeq:
		s.decideSeq(d.txn)
	case shownTwice, stillShownTwice:
		if x.possible == 1 {
			s.accuse(d, DuplicateElements, s.certain() && !s.attemptBefore(d))
		} else if x.possible == 0 && d.kind == shownTwice && s.Patience() > 0 {
			s.askPatiently(d, stillShownTwice) // for the append's record to come at all
		} else if x.possible == 0 {
			s.keepLate(d.version) // if the append comes all the same, a horizon finding tells it
		}
	case ownFuture:
		if x.possible == 1 && x.flags&wasThere == 0 && s.writeOf(d.txn, d.version) != 0 && !(s.opt.Existing && s.mayBeBaseline(d)) {
			s.accuse(d, FutureRead, s.certain())
		}
	case missingWriter, unheardWriter, writerAgain:
		if x.possible > 0 || x.flags&baseline != 0 || x.flags&accused != 0 && d.kind != writerAgain {
			return
		}
		if x.writes == 0 && d.kind == missingWriter && s.Patience() > 0 {
			// The writer may have been running for its client when the reader had
			// ended, and is recorded when it ends.
			s.askPatiently(d, unheardWriter)
			return
		}
		s.decideWriter(d)
	}
}

// accuse reports findings that rest on the version having one writer. It does not if another
// writer may have left memory, or if the writer has aborted, which was told too late. Where the finding
// is not certain, that is counted.
func (s *absences) accuse(d due, kind AnomalyKind, certain bool) {
	if key := s.valueKey(d.version); s.values.has(key) || s.aborts.has(key) {
		if !certain {
			s.Counters.Ambiguous++
			return
		}
		s.anomaly(Anomaly{Kind: RetiredRead, A: d.txn, Version: d.version, OpA: d.op})
		return
	}
	s.versions[d.version].flags |= accusedOne
	s.anomaly(Anomaly{Kind: kind, A: d.txn, B: d.txn, Version: d.version, OpA: d.op, Certain: certain})
}

// LiveUntimed says that records have no times. The patience with unheard writers is given, in logical time.
func (s *absences) LiveUntimed(patience int64) { s.untimed = patience }

// Untimed is the patience that LiveUntimed gave; 0: records have times.
func (s *absences) Untimed() int64 { return s.untimed }

// AskWhoReadsAnything takes the function that says whether a transaction may read uncommitted values.
// It may if it asked for no more.
func (s *absences) AskWhoReadsAnything(may func(n uint32) bool) { s.readsAnything = may }

// Patience is how much later than its reader a writer may end, and so be recorded: ns, or
// logical time where records have none. So long a writer may stay unheard of.
func (s *absences) Patience() int64 {
	if s.untimed > 0 {
		return s.untimed
	}
	if s.opt.Begins {
		return 0
	}
	return s.opt.MaxTxn
}

// certain says whether the capture excludes that a missing record exists.
func (s *absences) certain() bool {
	return s.opt.Complete && !s.opt.UnmonitoredWriters && s.Counters.Missing() == 0
}

func (s *absences) decideWriter(d due) {
	x := &s.versions[d.version]
	a := Anomaly{A: d.txn, Version: d.version, OpA: d.op, Certain: s.certain()}
	retired := s.values.has(s.valueKey(d.version))
	if retired && x.flags&ambiguous != 0 && s.keys[x.key].kind != event.List && s.twice.has(s.valueKey(d.version)) {
		return // several transactions wrote it and have left memory: this read is counted
	}
	was, tried, explained, by := false, false, false, uint32(0)
	if x.writes != 0 && !retired {
		was, tried, by = s.wasThere(d)
	}
	if x.writes != 0 && !retired && !was { // all of them aborted
		if s.readsAnything != nil && s.readsAnything(d.txn) { // other transactions may have read the value too, and those may not read it
			if a.A, a.OpA = s.showsToo(d.version); a.A == 0 {
				return
			}
		}
		a.Kind, a.B = G1a, by
		for v := x.next; x.flags&placed != 0 && v != 0; v = s.versions[v].next {
			if s.versions[v].writer != 0 {
				a.Kind = DirtyUpdate
				break
			}
		}
		x.flags |= accused
		s.pin(a.B)
		s.anomaly(a)
		return
	}
	k := &s.keys[x.key]
	forsaken := !retired && s.aborts.has(s.valueKey(d.version))
	// Somebody without a record may have written it again: the retry of one that aborted, or an add.
	unseen := !s.opt.Complete || s.opt.UnmonitoredWriters
	if (retired || forsaken) && (x.flags&unrecorded != 0 || unseen && (forsaken || k.flags&element != 0) || k.kind == event.List && s.mayBeAgain(d)) {
		s.Counters.Ambiguous++
		return
	}
	if retired || forsaken {
		a.Kind, a.Certain = RetiredRead, false
		s.anomaly(a)
		return
	}
	if s.ofRow(x.key, x.hash) {
		if x.flags&ofAnotherColumn == 0 {
			s.Counters.OfRows++
			s.mark(d.version, ofAnotherColumn, 0)
		}
		return
	}
	if s.nameless && k.kind == event.Register && k.flags&(versioned|sums) != 0 {
		a.Certain = false // its writer may not have told it
	}
	if x.flags&wasThere != 0 { // whoever may have written it did not
		x.flags |= baseline
		return
	}
	if s.opt.Existing && s.mayBeBaseline(d) {
		x.flags |= baseline
		if k.kind == event.List || k.flags&(hasBaseline|foundNothing) == 0 {
			k.flags |= hasBaseline
			s.countRoots(x.key)
			return
		}
		// The key had another value, or none, and no recorded transaction changed it.
		k.flags |= hasBaseline
		s.countRoots(x.key)
		a.Certain = false
		explained = s.txns[d.txn].start <= s.baselineEnds
	}
	if was && x.flags&unattributed != 0 {
		return // that is known
	}
	a.Certain = a.Certain && !tried
	s.Counters.Unattributed++
	s.mark(d.version, unattributed, 0)
	if explained {
		return // it is counted: start=existing allows for a transaction that ran at the first record
	}
	if a.Certain && !s.values.forgot && !s.aborts.forgot {
		x.flags |= accused
		a.Kind = GarbageRead
		s.anomaly(a)
		return
	}
	a.Kind = UnattributedRead
	s.anomaly(a)
}

// showsToo is a transaction that may not read anything, and whose list shows the element v. op is the operation. n is 0
// if there is none. Only the first that showed v is asked about it. O(readers of the list behind v).
func (s *absences) showsToo(v uint32) (n, op uint32) {
	for u := v; u != 0 && s.versions[v].flags&placed != 0; u = s.versions[u].next {
		for r := s.versions[u].readers; r != 0; r = s.olderReader(r) {
			if x := &s.readers[r]; !s.readsAnything(x.txn) {
				return x.txn, x.op
			}
		}
	}
	return 0, 0
}

// mayBeAgain is about the element of a list that d asks about. The writer of the element has left
// memory. mayBeAgain says whether another transaction may have appended the element. Several did, or
// the contract leaves one without a record.
func (s *absences) mayBeAgain(d due) bool {
	return !s.certain() || s.twice.has(s.valueKey(d.version)) || s.opt.Existing && s.mayBeBaseline(d)
}

// emptyArray is the value of a register that an empty list looks like.
var emptyArray = event.HashText([]byte("[]"))

// unwritten counts v if it has no writer any more, since a record was replaced, and all its readers are
// gone.
func (s *registers) unwritten(v uint32) {
	x := &s.versions[v]
	if x.possible > 0 || x.due > 0 || x.flags&seen == 0 || x.flags&(initialVersion|nothing|baseline|unattributed) != 0 {
		return
	}
	s.mark(v, unattributed, 0)
	s.Counters.Unattributed++
	s.keepLate(v)
}

// mayBeBaseline says whether the value can have been there before watching began. It was read
// while transactions from before may have been ending, or it is the first such value of its
// key. In a list, no known element comes before it, or one that was appended while those from before
// may have been ending.
func (s *absences) mayBeBaseline(d due) bool {
	if s.txns[d.txn].start <= s.baselineEnds {
		return true
	}
	x := &s.versions[d.version]
	if s.keys[x.key].kind == event.List {
		if p := s.knownBefore(x.prev); p != 0 {
			return s.appendedEarly(p)
		}
		return s.keys[x.key].flags&since == 0
	}
	return s.keys[x.key].flags&hasBaseline == 0
}

// supplied says that v has a possible writer that was not known when it was
// accused.
func (s *absences) supplied(v uint32) {
	x := &s.versions[v]
	if x.flags&(baseline|unattributed|accused|ofAnotherColumn) == 0 {
		return
	}
	if x.flags&baseline != 0 {
		x.flags = x.flags&^baseline | wasThere
	}
	s.mark(v, 0, ofAnotherColumn)
	if x.flags&unattributed != 0 {
		s.mark(v, 0, unattributed)
		s.Counters.Unattributed--
	}
	if x.flags&accused != 0 {
		x.flags &^= accused
		s.out.Supplied = append(s.out.Supplied, s.valueKey(v))
	}
}

// askAll asks again for the writer of v, for every reader of it. A finding that v has no writer may
// have gone together with another finding.
func (s *absences) askAll(v uint32) {
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		n := s.readers[r].txn
		s.wait(s.txns[n].end, n, v, s.readers[r].op, writerAgain)
	}
}

// recount takes back what rested on v having one writer, when a record was
// replaced and v has none now. A second one is possibleWriter's.
func (s *absences) recount(v uint32) {
	if x := &s.versions[v]; x.flags&accusedOne != 0 && x.possible != 1 {
		x.flags &^= accusedOne
		s.out.Ambiguous = append(s.out.Ambiguous, s.valueKey(v))
	}
}

// wroteLate reports that the writer of what retired transactions read has come.
func (s *absences) wroteLate(v uint32) {
	if x := &s.versions[v]; x.flags&(lateReaders|seen) != 0 {
		if s.txns[x.writer].flags&unknown == 0 { // otherwise it counts only while v is known to have been read
			x.flags &^= lateReaders
		}
		s.anomaly(Anomaly{Kind: RetiredReader, A: x.writer, Version: v})
	}
}

func (s *ledger) valueKey(v uint32) uint64 {
	x := &s.versions[v]
	return versionHash(0, x.hash) ^ s.keys[x.key].hash.Lo
}
