package causes

import (
	"math"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Await asks for the writer of v, which n's operation op read. The answer is due when the watermark has passed n's end.
func (s *Absences) Await(v, n, op uint32) { s.Wait(s.Txns[n].End, n, v, op, ledger.MissingWriter) }

// SuspectDuplicate asks whether the element v, which n's read op shows twice, was appended once.
func (s *Absences) SuspectDuplicate(v, n, op uint32) {
	s.Wait(s.Txns[n].End, n, v, op, ledger.ShownTwice)
}

// SuspectFuture asks whether v, which n's operation op read before n wrote it, has no other writer.
func (s *Absences) SuspectFuture(v, n, op uint32) {
	if s.Versions[v].Flags&ledger.Nothing == 0 { // "nothing" stays the value if nobody has deleted
		s.Wait(s.Txns[n].End, n, v, op, ledger.OwnFuture)
	}
}

// AskPatiently asks d again, since nobody has heard of its writer.
func (s *Absences) AskPatiently(d ledger.Due, kind ledger.DueKind) {
	s.Txns[d.Txn].Due++
	s.Versions[d.Version].Due++
	s.Patient.Asked = s.Absence.Asked
	s.Patient.Push(s.Txns[d.Txn].End, d.Txn, s.Txns[d.Txn].Gen, d.Version, d.Op, kind)
	s.Absence.Asked = s.Patient.Asked
}

// Undecided says whether some question can be answered: the watermark now has passed it, or all
// transactions that began before gone have come.
func (s *Absences) Undecided(now, gone int64) bool {
	return s.Absence.Before(now) || s.Patient.Before(s.PatientLimit(now, gone))
}

// PatientLimit is a time. If a reader ended before it, the reader's unheard writer would have come by
// now. gone is math.MinInt64 where it is not known.
func (s *Absences) PatientLimit(now, gone int64) int64 {
	limit := now
	if now >= math.MinInt64+s.Patience() {
		limit = now - s.Patience()
	}
	if drift := int64(s.Opt.ClockDrift); gone >= math.MinInt64+drift {
		limit = max(limit, gone-drift)
	}
	return min(limit, now)
}

// Accuse reports findings that rest on the version having one writer. It does not if another
// writer may have left memory, or if the writer has aborted, which was told too late. Where the finding
// is not certain, that is counted.
func (s *Absences) Accuse(d ledger.Due, kind ledger.AnomalyKind, certain bool) {
	if key := s.KeyOfValue(d.Version); s.Values.Has(key) || s.Aborts.Has(key) {
		if !certain {
			s.Counters.Ambiguous++
			return
		}
		s.Report(ledger.Anomaly{Kind: ledger.RetiredRead, A: d.Txn, Version: d.Version, OpA: d.Op})
		return
	}
	s.Versions[d.Version].Flags |= ledger.AccusedOne
	s.Report(ledger.Anomaly{Kind: kind, A: d.Txn, B: d.Txn, Version: d.Version, OpA: d.Op, Certain: certain})
}

// LiveUntimed says that records have no times. The patience with unheard writers is given, in logical time.
func (s *Absences) LiveUntimed(patience int64) { s.UntimedPatience = patience }

// Untimed is the patience that LiveUntimed gave; 0: records have times.
func (s *Absences) Untimed() int64 { return s.UntimedPatience }

// AskWhoReadsAnything takes the function that says whether a transaction may read uncommitted values.
// It may if it asked for no more.
func (s *Absences) AskWhoReadsAnything(may func(n uint32) bool) { s.ReadsAnything = may }

// Patience is how much later than its reader a writer may end, and so be recorded: ns, or
// logical time where records have none. So long a writer may stay unheard of.
func (s *Absences) Patience() int64 {
	if s.UntimedPatience > 0 {
		return s.UntimedPatience
	}
	if s.Opt.Begins {
		return 0
	}
	return s.Opt.MaxTxn
}

// Certain says whether the capture excludes that a missing record exists.
func (s *Absences) Certain() bool {
	return s.Opt.Complete && !s.Opt.UnmonitoredWriters && s.Counters.Missing() == 0
}

// DecideWriter answers the question d about a version that has no possible writer. It reports an aborted, garbage
// or unattributed read. It does not if the contract, or what has left memory, explains the read.
func (s *Absences) DecideWriter(d ledger.Due) {
	x := &s.Versions[d.Version]
	a := ledger.Anomaly{A: d.Txn, Version: d.Version, OpA: d.Op, Certain: s.Certain()}
	retired := s.Values.Has(s.KeyOfValue(d.Version))
	if retired && x.Flags&ledger.Ambiguous != 0 && s.Keys[x.Key].Kind != event.List && s.Twice.Has(s.KeyOfValue(d.Version)) {
		return // several transactions wrote it and have left memory: this read is counted
	}
	was, tried, explained, by := false, false, false, uint32(0)
	if x.Writes != 0 && !retired {
		was, tried, by = s.wasThere(d)
	}
	if x.Writes != 0 && !retired && !was { // all of them aborted
		if s.ReadsAnything != nil && s.ReadsAnything(d.Txn) { // other transactions may have read the value too, and those may not read it
			if a.A, a.OpA = s.showsToo(d.Version); a.A == 0 {
				return
			}
		}
		a.Kind, a.B = ledger.G1a, by
		for v := x.Next; x.Flags&ledger.Placed != 0 && v != 0; v = s.Versions[v].Next {
			if s.Versions[v].Writer != 0 {
				a.Kind = ledger.DirtyUpdate
				break
			}
		}
		x.Flags |= ledger.Accused
		s.Pin(a.B)
		s.Report(a)
		return
	}
	k := &s.Keys[x.Key]
	forsaken := !retired && s.Aborts.Has(s.KeyOfValue(d.Version))
	// Somebody without a record may have written it again: the retry of one that aborted, or an add.
	unseen := !s.Opt.Complete || s.Opt.UnmonitoredWriters
	if (retired || forsaken) && (x.Flags&ledger.Unrecorded != 0 || unseen && (forsaken || k.Flags&ledger.Element != 0) || k.Kind == event.List && s.mayBeAgain(d)) {
		s.Counters.Ambiguous++
		return
	}
	if retired || forsaken {
		a.Kind, a.Certain = ledger.RetiredRead, false
		s.Report(a)
		return
	}
	if s.OfRow(x.Key, x.Hash) {
		if x.Flags&ledger.OfAnotherColumn == 0 {
			s.Counters.OfRows++
			s.Mark(d.Version, ledger.OfAnotherColumn, 0)
		}
		return
	}
	if s.Nameless && k.Kind == event.Register && k.Flags&(ledger.Versioned|ledger.Sums) != 0 {
		a.Certain = false // its writer may not have told it
	}
	if x.Flags&ledger.WasThere != 0 { // whoever may have written it did not
		x.Flags |= ledger.Baseline
		return
	}
	if s.Opt.Existing && s.MayBeBaseline(d) {
		x.Flags |= ledger.Baseline
		if k.Kind == event.List || k.Flags&(ledger.HasBaseline|ledger.FoundNothing) == 0 {
			k.Flags |= ledger.HasBaseline
			s.CountRoots(x.Key)
			return
		}
		// The key had another value, or none, and no recorded transaction changed it.
		k.Flags |= ledger.HasBaseline
		s.CountRoots(x.Key)
		a.Certain = false
		explained = s.Txns[d.Txn].Start <= s.BaselineEnds
	}
	if was && x.Flags&ledger.Unattributed != 0 {
		return // that is known
	}
	a.Certain = a.Certain && !tried
	s.Counters.Unattributed++
	s.Mark(d.Version, ledger.Unattributed, 0)
	if explained {
		return // it is counted: start=existing allows for a transaction that ran at the first record
	}
	if a.Certain && !s.Values.Forgot && !s.Aborts.Forgot {
		x.Flags |= ledger.Accused
		a.Kind = ledger.GarbageRead
		s.Report(a)
		return
	}
	a.Kind = ledger.UnattributedRead
	s.Report(a)
}

// showsToo is a transaction that may not read anything, and whose list shows the element v. op is the operation. n is 0
// if there is none. Only the first that showed v is asked about it. O(readers of the list behind v).
func (s *Absences) showsToo(v uint32) (n, op uint32) {
	for u := v; u != 0 && s.Versions[v].Flags&ledger.Placed != 0; u = s.Versions[u].Next {
		for r := s.Versions[u].Readers; r != 0; r = s.OlderReader(r) {
			if x := &s.Readers[r]; !s.ReadsAnything(x.Txn) {
				return x.Txn, x.Op
			}
		}
	}
	return 0, 0
}

// mayBeAgain is about the element of a list that d asks about. The writer of the element has left
// memory. mayBeAgain says whether another transaction may have appended the element. Several did, or
// the contract leaves one without a record.
func (s *Absences) mayBeAgain(d ledger.Due) bool {
	return !s.Certain() || s.Twice.Has(s.KeyOfValue(d.Version)) || s.Opt.Existing && s.MayBeBaseline(d)
}

// MayBeBaseline says whether the value can have been there before watching began. It was read
// while transactions from before may have been ending, or it is the first such value of its
// key. In a list, no known element comes before it, or one that was appended while those from before
// may have been ending.
func (s *Absences) MayBeBaseline(d ledger.Due) bool {
	if s.Txns[d.Txn].Start <= s.BaselineEnds {
		return true
	}
	x := &s.Versions[d.Version]
	if s.Keys[x.Key].Kind == event.List {
		if p := s.KnownBefore(x.Prev); p != 0 {
			return s.AppendedEarly(p)
		}
		return s.Keys[x.Key].Flags&Since == 0
	}
	return s.Keys[x.Key].Flags&ledger.HasBaseline == 0
}

// Supplied says that v has a possible writer that was not known when it was
// accused.
func (s *Absences) Supplied(v uint32) {
	x := &s.Versions[v]
	if x.Flags&(ledger.Baseline|ledger.Unattributed|ledger.Accused|ledger.OfAnotherColumn) == 0 {
		return
	}
	if x.Flags&ledger.Baseline != 0 {
		x.Flags = x.Flags&^ledger.Baseline | ledger.WasThere
	}
	s.Mark(v, 0, ledger.OfAnotherColumn)
	if x.Flags&ledger.Unattributed != 0 {
		s.Mark(v, 0, ledger.Unattributed)
		s.Counters.Unattributed--
	}
	if x.Flags&ledger.Accused != 0 {
		x.Flags &^= ledger.Accused
		s.Out.Supplied = append(s.Out.Supplied, s.KeyOfValue(v))
	}
}

// AskAll asks again for the writer of v, for every reader of it. A finding that v has no writer may
// have gone together with another finding.
func (s *Absences) AskAll(v uint32) {
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		n := s.Readers[r].Txn
		s.Wait(s.Txns[n].End, n, v, s.Readers[r].Op, ledger.WriterAgain)
	}
}

// Recount takes back what rested on v having one writer, when a record was
// replaced and v has none now. A second one is PossibleWriter's.
func (s *Absences) Recount(v uint32) {
	if x := &s.Versions[v]; x.Flags&ledger.AccusedOne != 0 && x.Possible != 1 {
		x.Flags &^= ledger.AccusedOne
		s.Out.Ambiguous = append(s.Out.Ambiguous, s.KeyOfValue(v))
	}
}

// WroteLate reports that the writer of what retired transactions read has come.
func (s *Absences) WroteLate(v uint32) {
	if x := &s.Versions[v]; x.Flags&(ledger.LateReaders|ledger.Seen) != 0 {
		if s.Txns[x.Writer].Flags&ledger.Unknown == 0 { // otherwise it counts only while v is known to have been read
			x.Flags &^= ledger.LateReaders
		}
		s.Report(ledger.Anomaly{Kind: ledger.RetiredReader, A: x.Writer, Version: v})
	}
}

// TriedBefore says whether n, which is not known to have committed, may try again what another one
// tried before the first record. Then a reader of v, which n wrote, may have read from the first
// attempt. So the read does not show that n took effect. A version shows it. Elements of lists and sets
// have no version, whatever the contract says of registers. Under a partial capture findings about n
// are not certain: TookEffect.
func (s *Absences) TriedBefore(v, n uint32) bool {
	k := &s.Keys[s.Versions[v].Key]
	return s.Opt.Existing && s.Opt.Plain() && !k.TellsVersions() && s.Txns[n].Start <= s.BaselineEnds
}
